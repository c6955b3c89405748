package io.github.flinkpubsub.source.reader;

import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.PubSubException.Status;

import org.apache.flink.annotation.Internal;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.ExecutionOptions;
import org.apache.flink.streaming.api.operators.StreamingRuntimeContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.lang.reflect.Method;
import java.time.Duration;

import javax.annotation.Nullable;

/**
 * Finds out at the start whether the job checkpoints at all. Flink tells sources only through a
 * method that its newer versions have and that is not part of {@link SourceReaderContext}; where it
 * is missing, {@link FirstCheckpointWatch} finds out later.
 */
@Internal
public final class CheckpointingProbe {

    private static final Logger LOG = LoggerFactory.getLogger(CheckpointingProbe.class);

    private CheckpointingProbe() {}

    /** Whether the job is known not to checkpoint. */
    public static boolean isOff(SourceReaderContext context) {
        Configuration job = jobConfiguration(context);
        return job != null && !CheckpointingOptions.isCheckpointingEnabled(job);
    }

    /** Whether the job is known to run in batch execution, which has no checkpoints. */
    static boolean isBatch(SourceReaderContext context) {
        Configuration job = jobConfiguration(context);
        return job != null && job.get(ExecutionOptions.RUNTIME_MODE) == RuntimeExecutionMode.BATCH;
    }

    /**
     * Throws when the job is known not to checkpoint; warns when checkpoints are so far apart that
     * leases come near their ceiling.
     */
    static void check(SourceReaderContext context, Duration maxAckExtensionPeriod)
            throws PubSubException {
        Configuration job = jobConfiguration(context);
        if (job == null) {
            return;
        }
        if (!CheckpointingOptions.isCheckpointingEnabled(job)) {
            throw new PubSubException(
                    Status.FAILED_PRECONDITION,
                    null,
                    "checkpointing is off, and only checkpoints acknowledge messages: enable it"
                            + " (execution.checkpointing.interval), or set firstCheckpointTimeout"
                            + " ('scan.first-checkpoint-timeout' in SQL) to zero to read without"
                            + " ever acknowledging");
        }
        Duration interval = job.get(CheckpointingOptions.CHECKPOINTING_INTERVAL);
        if (isNear(interval, maxAckExtensionPeriod)) {
            LOG.warn(
                    "The checkpoint interval ({}) comes near maxAckExtensionPeriod ({}): messages"
                            + " that a checkpoint has not acknowledged by then are delivered again",
                    interval,
                    maxAckExtensionPeriod);
        }
    }

    /** A checkpoint may start a whole interval after a message and takes its time, too. */
    static boolean isNear(Duration interval, Duration maxAckExtensionPeriod) {
        return interval.multipliedBy(2).compareTo(maxAckExtensionPeriod) > 0;
    }

    /** Null where this version of Flink does not tell. */
    @Nullable
    private static Configuration jobConfiguration(SourceReaderContext context) {
        try {
            Method method = context.getClass().getMethod("getRuntimeContext");
            method.setAccessible(true);
            Object runtimeContext = method.invoke(context);
            return runtimeContext instanceof StreamingRuntimeContext
                    ? ((StreamingRuntimeContext) runtimeContext).getJobConfiguration()
                    : null;
        } catch (ReflectiveOperationException | RuntimeException e) {
            LOG.debug("Cannot tell at the start whether checkpointing is on", e);
            return null;
        }
    }
}

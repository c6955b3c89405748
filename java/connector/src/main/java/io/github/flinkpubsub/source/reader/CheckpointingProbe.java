package io.github.flinkpubsub.source.reader;

import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.PubSubException.Status;

import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.streaming.api.operators.StreamingRuntimeContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.lang.reflect.Method;

/**
 * Finds out at the start whether the job checkpoints at all. Flink tells sources only through a
 * method that its newer versions have and that is not part of {@link SourceReaderContext}; where it
 * is missing, {@link FirstCheckpointWatch} finds out later.
 */
final class CheckpointingProbe {

    private static final Logger LOG = LoggerFactory.getLogger(CheckpointingProbe.class);

    private CheckpointingProbe() {}

    /** Throws when the job is known not to checkpoint. */
    static void check(SourceReaderContext context) throws PubSubException {
        if (isDisabled(context)) {
            throw new PubSubException(
                    Status.FAILED_PRECONDITION,
                    null,
                    "checkpointing is off, and only checkpoints acknowledge messages: enable it"
                            + " (execution.checkpointing.interval), or set firstCheckpointTimeout"
                            + " to zero to read without ever acknowledging");
        }
    }

    private static boolean isDisabled(SourceReaderContext context) {
        try {
            Method method = context.getClass().getMethod("getRuntimeContext");
            method.setAccessible(true);
            Object runtimeContext = method.invoke(context);
            return runtimeContext instanceof StreamingRuntimeContext
                    && !CheckpointingOptions.isCheckpointingEnabled(
                            ((StreamingRuntimeContext) runtimeContext).getJobConfiguration());
        } catch (ReflectiveOperationException | RuntimeException e) {
            LOG.debug("Cannot tell at the start whether checkpointing is on", e);
            return false;
        }
    }
}

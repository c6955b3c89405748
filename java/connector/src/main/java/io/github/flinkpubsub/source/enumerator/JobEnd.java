package io.github.flinkpubsub.source.enumerator;

import org.apache.flink.api.common.JobStatus;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.runtime.checkpoint.CheckpointCoordinator;
import org.apache.flink.runtime.checkpoint.CompletedCheckpoint;
import org.apache.flink.runtime.operators.coordination.OperatorCoordinator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.lang.reflect.Method;
import java.util.TreeSet;

import javax.annotation.Nullable;

/**
 * Finds out whether a job whose enumerator is being closed has ended for good: whether there is
 * nothing left that it could go on from. Flink does not say why it closes an enumerator, so this
 * goes by what else can be seen: a failover does not shut the checkpoint coordinator down, and
 * savepoints are not kept in its store. Where in doubt, the job may go on.
 */
final class JobEnd {

    private static final Logger LOG = LoggerFactory.getLogger(JobEnd.class);

    /** Null where checkpointing is off, or where Flink does not show it. */
    @Nullable private CheckpointCoordinator coordinator;

    /** Snapshots of which it is not known what became of them. */
    private final TreeSet<Long> open = new TreeSet<>();

    private long lastCompleted;
    private boolean survives;

    /** To be called when the enumerator starts: when it is closed, Flink has let go of the rest. */
    synchronized void started(SplitEnumeratorContext<?> context) {
        coordinator = coordinator(context);
    }

    synchronized void snapshot(long checkpointId) {
        open.add(checkpointId);
    }

    synchronized void aborted(long checkpointId) {
        open.remove(checkpointId);
    }

    /** A checkpoint, or the savepoint that a job is stopped with; other savepoints are not told. */
    synchronized void completed(long checkpointId) {
        open.remove(checkpointId);
        lastCompleted = checkpointId;
        try {
            CompletedCheckpoint latest =
                    coordinator == null
                            ? null
                            : coordinator.getCheckpointStore().getLatestCheckpoint();
            survives =
                    latest == null
                            || latest.getCheckpointID() != checkpointId
                            || !isDiscarded(latest);
        } catch (Exception | LinkageError e) {
            LOG.debug("Cannot tell what kind of checkpoint was completed", e);
            survives = true;
        }
    }

    private static boolean isDiscarded(CompletedCheckpoint checkpoint) {
        return checkpoint.shouldBeDiscardedOnShutdown(JobStatus.CANCELED)
                && checkpoint.shouldBeDiscardedOnShutdown(JobStatus.FAILED)
                && checkpoint.shouldBeDiscardedOnShutdown(JobStatus.FINISHED);
    }

    /** Whether the job is over and no checkpoint or savepoint of this run outlives it. */
    synchronized boolean forGood() {
        try {
            boolean over = coordinator != null && coordinator.isShutdown();
            // With high availability the job may go on elsewhere.
            boolean lost =
                    over && !coordinator.getCheckpointStore().requiresExternalizedCheckpoints();
            // A snapshot that neither completed nor was aborted, and that a later one has
            // overtaken,
            // was a savepoint.
            boolean savepoint = !open.headSet(lastCompleted).isEmpty();
            LOG.debug(
                    "The job is over: {}, not to go on elsewhere: {}, a checkpoint is left: {}, a"
                            + " savepoint was taken: {}",
                    over,
                    lost,
                    survives,
                    savepoint);
            return lost && !survives && !savepoint;
        } catch (Exception | LinkageError e) {
            LOG.debug("Cannot tell whether the job has ended for good", e);
            return false;
        }
    }

    @Nullable
    private static CheckpointCoordinator coordinator(SplitEnumeratorContext<?> context) {
        try {
            Method method = context.getClass().getDeclaredMethod("getCoordinatorContext");
            method.setAccessible(true);
            return ((OperatorCoordinator.Context) method.invoke(context))
                    .getCheckpointCoordinator();
        } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
            LOG.debug("Cannot tell when the job ends for good", e);
            return null;
        }
    }
}

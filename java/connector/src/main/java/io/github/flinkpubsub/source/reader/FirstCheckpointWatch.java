package io.github.flinkpubsub.source.reader;

import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.PubSubException.Status;

import java.time.Duration;

/**
 * Finds a job that reads but never completes a checkpoint, and so never acknowledges. The fetcher
 * reports and asks, with its reading of {@link System#nanoTime()}; the task's thread reports the
 * checkpoint.
 */
final class FirstCheckpointWatch {

    private final Duration timeout;
    private boolean waiting;
    private long firstMessageNanos;
    private volatile boolean completed;

    /**
     * @param timeout zero waits for ever
     */
    FirstCheckpointWatch(Duration timeout) {
        this.timeout = timeout;
    }

    void messagesFetched(long nowNanos) {
        if (!waiting) {
            waiting = true;
            firstMessageNanos = nowNanos;
        }
    }

    void checkpointCompleted() {
        completed = true;
    }

    /** Throws when the first message has waited too long. */
    void check(long nowNanos) throws PubSubException {
        if (completed || !waiting || timeout.isZero()) {
            return;
        }
        if (nowNanos - firstMessageNanos >= timeout.toNanos()) {
            throw new PubSubException(
                    Status.FAILED_PRECONDITION,
                    null,
                    "no checkpoint has completed within "
                            + timeout
                            + " of the first message, and only checkpoints acknowledge messages:"
                            + " enable checkpointing (execution.checkpointing.interval), find out"
                            + " why checkpoints fail, or raise firstCheckpointTimeout");
        }
    }
}

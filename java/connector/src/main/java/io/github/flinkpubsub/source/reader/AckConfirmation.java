package io.github.flinkpubsub.source.reader;

import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.PubSubException.Status;
import io.github.flinkpubsub.nativebridge.Subscriber;

import java.io.IOException;
import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * Waits until the service has confirmed the acks of a checkpoint. Runs on the task's thread, which
 * an interrupt frees at once: a job that is cancelled interrupts its tasks.
 */
final class AckConfirmation {

    static final Duration TIMEOUT = Duration.ofMinutes(1);

    /** A native call cannot be interrupted, so the wait is made of calls as short as this. */
    private static final long SLICE_MILLIS = 20;

    private final Subscriber subscriber;
    private final LongSupplier nanoTime;

    AckConfirmation(Subscriber subscriber, LongSupplier nanoTime) {
        this.subscriber = subscriber;
        this.nanoTime = nanoTime;
    }

    /**
     * @throws PubSubException when an ack was refused, or not answered within {@link #TIMEOUT}
     */
    void await(long checkpointId) throws IOException, InterruptedException {
        long start = nanoTime.getAsLong();
        while (!subscriber.confirmed(SLICE_MILLIS)) {
            if (Thread.interrupted()) {
                throw new InterruptedException(
                        "interrupted before the acks of checkpoint "
                                + checkpointId
                                + " were confirmed");
            }
            if (nanoTime.getAsLong() - start >= TIMEOUT.toNanos()) {
                throw new PubSubException(
                        Status.DEADLINE_EXCEEDED,
                        null,
                        "awaitAckConfirmation: the acks of checkpoint "
                                + checkpointId
                                + " were not confirmed within "
                                + TIMEOUT.toSeconds()
                                + " s");
            }
        }
    }
}

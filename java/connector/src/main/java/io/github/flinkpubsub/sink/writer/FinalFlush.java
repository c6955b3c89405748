package io.github.flinkpubsub.sink.writer;

import io.github.flinkpubsub.nativebridge.Publisher;
import io.github.flinkpubsub.nativebridge.PublisherCounter;

import java.io.IOException;
import java.util.concurrent.locks.LockSupport;

/**
 * Waits for a publisher that is about to be closed, outside the mailbox, which takes no mail any
 * more. What is left then has been written after the last checkpoint, so a job that ends regularly
 * has flushed it before, and one that is cancelled during an outage need not wait for it.
 */
final class FinalFlush {

    /** Without a confirmation for so long, the service is taken to be away. */
    static final long OUTAGE_NANOS = 3_000_000_000L;

    private static final long LOOK_AGAIN_NANOS = 5_000_000;

    private FinalFlush() {}

    /**
     * Returns when nothing is in flight, at {@code end} (of {@link System#nanoTime()}), after a
     * failure, or when the service seems to be away.
     */
    static void await(Publisher publisher, long end) throws IOException {
        publisher.flush();
        long inFlight = Long.MAX_VALUE;
        long progressed = System.nanoTime();
        while (true) {
            if (takeFailures(publisher)) {
                return;
            }
            long now = System.nanoTime();
            long left = publisher.state()[PublisherCounter.IN_FLIGHT_MESSAGES.ordinal()];
            if (left < inFlight) {
                inFlight = left;
                progressed = now;
            }
            if (left == 0 || now - end >= 0 || now - progressed >= OUTAGE_NANOS) {
                return;
            }
            LockSupport.parkNanos(LOOK_AGAIN_NANOS);
        }
    }

    /** Drops refused messages, whose records come again; tells whether the publisher has failed. */
    private static boolean takeFailures(Publisher publisher) throws IOException {
        byte[] descriptor;
        while ((descriptor = publisher.takeFailure()) != null) {
            if (PublishFailure.parse(descriptor).terminal()) {
                return true;
            }
        }
        return false;
    }
}

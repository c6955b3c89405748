package io.github.flinkpubsub.sink.writer;

import io.github.flinkpubsub.nativebridge.Publisher;
import io.github.flinkpubsub.nativebridge.PublisherCounter;

import org.apache.flink.api.common.operators.MailboxExecutor;

import java.io.IOException;

/**
 * Makes the task wait until little enough is in flight. It waits in the mailbox, so that timers,
 * failures and cancellation get through. Belongs to the task's thread.
 */
final class InFlightGate {

    private final Publisher publisher;
    private final MailboxExecutor mailbox;

    /** What was in flight after the last append: never too low, as it only falls since. */
    private final long[] inFlight = new long[2];

    private boolean reached;

    InFlightGate(Publisher publisher, MailboxExecutor mailbox) {
        this.publisher = publisher;
        this.mailbox = mailbox;
    }

    /** Called when the publisher says that its target is reached. */
    void targetReached() {
        reached = true;
    }

    /** Is given what is in flight by each append: messages, bytes. */
    long[] inFlight() {
        return inFlight;
    }

    /** Whether an append may have left more than that in flight; asks nobody. */
    boolean mayBeAbove(long messages, long bytes) {
        return inFlight[0] > messages || inFlight[1] > bytes;
    }

    /** Returns when at most so many messages and bytes are in flight. */
    void await(long messages, long bytes) throws IOException, InterruptedException {
        while (isAbove(messages, bytes)) {
            reached = false;
            publisher.target(messages, bytes);
            while (!reached) {
                mailbox.yield();
            }
        }
    }

    private boolean isAbove(long messages, long bytes) {
        long[] state = publisher.state();
        return state[PublisherCounter.IN_FLIGHT_MESSAGES.ordinal()] > messages
                || state[PublisherCounter.IN_FLIGHT_BYTES.ordinal()] > bytes;
    }
}

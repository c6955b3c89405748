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

    /**
     * With so many bytes that wait for the connection, more would only wait with them: in memory
     * that is no longer in a cache, and in the way of the next checkpoint. It is more than one
     * request, and than many streams take whose windows are small.
     */
    static final long MAX_UNWRITTEN = 16 << 20;

    private final Publisher publisher;
    private final MailboxExecutor mailbox;

    /**
     * What was in flight when it was last looked at, by an append or later: never too low, as it
     * only falls since; and what was not written.
     */
    private final long[] inFlight = new long[3];

    private boolean reached;

    InFlightGate(Publisher publisher, MailboxExecutor mailbox) {
        this.publisher = publisher;
        this.mailbox = mailbox;
    }

    /** Called when the publisher says that its target is reached. */
    void targetReached() {
        reached = true;
    }

    /** Is given what is in flight by each append: messages, bytes, bytes not yet written. */
    long[] inFlight() {
        return inFlight;
    }

    /** Whether more than that may be in flight; asks nobody. */
    boolean mayBeAbove(long messages, long bytes) {
        return inFlight[0] > messages || inFlight[1] > bytes || inFlight[2] > MAX_UNWRITTEN;
    }

    /** Returns when at most so many messages and bytes are in flight, and little is unwritten. */
    void await(long messages, long bytes) throws IOException, InterruptedException {
        while (isAbove(messages, bytes)) {
            reached = false;
            // Half of it, so that the task is not woken for every block.
            publisher.target(messages, bytes, MAX_UNWRITTEN / 2);
            while (!reached) {
                mailbox.yield();
            }
        }
    }

    private boolean isAbove(long messages, long bytes) {
        long[] state = publisher.state();
        inFlight[0] = state[PublisherCounter.IN_FLIGHT_MESSAGES.ordinal()];
        inFlight[1] = state[PublisherCounter.IN_FLIGHT_BYTES.ordinal()];
        inFlight[2] = state[PublisherCounter.UNWRITTEN_BYTES.ordinal()];
        return mayBeAbove(messages, bytes);
    }
}

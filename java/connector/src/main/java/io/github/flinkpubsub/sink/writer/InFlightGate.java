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
     * that is no longer in a cache, and in the way of the next checkpoint. With 16 MiB the cache is
     * lost, with less than 4 MiB the writer is woken too often.
     */
    static final long MAX_UNWRITTEN = 4 << 20;

    /** So many whole requests may wait at least: the next is made while one is written. */
    private static final long REQUESTS = 4;

    private final Publisher publisher;
    private final MailboxExecutor mailbox;
    private final long maxUnwritten;

    /**
     * What was in flight when it was last looked at, by an append or later: never too low, as it
     * only falls since; and what was not written.
     */
    private final long[] inFlight = new long[3];

    private boolean reached;

    /**
     * @param batchBytes what a request may have
     */
    InFlightGate(Publisher publisher, MailboxExecutor mailbox, long batchBytes) {
        this.publisher = publisher;
        this.mailbox = mailbox;
        maxUnwritten = Math.max(MAX_UNWRITTEN, REQUESTS * batchBytes);
    }

    /** Called when the publisher says that its target is reached. */
    void targetReached() {
        reached = true;
    }

    /** Is given what is in flight by each append: messages, bytes, bytes not yet written. */
    long[] inFlight() {
        return inFlight;
    }

    /**
     * Whether more than that may be in flight, or too much unwritten for so many bytes more; asks
     * nobody.
     */
    boolean mayBeAbove(long messages, long bytes, long more) {
        return inFlight[0] > messages
                || inFlight[1] > bytes
                || inFlight[2] > Math.max(maxUnwritten, more);
    }

    /**
     * Returns when at most so many messages and bytes are in flight, and little enough is unwritten
     * for so many bytes more.
     */
    void await(long messages, long bytes, long more) throws IOException, InterruptedException {
        while (isAbove(messages, bytes, more)) {
            reached = false;
            // Half of it, so that the task is not woken for every block.
            publisher.target(messages, bytes, Math.max(maxUnwritten / 2, more));
            while (!reached) {
                mailbox.yield();
            }
        }
    }

    /**
     * As {@link #await}, before more is appended: what waits for its batch to fill goes first, for
     * it may be all that is in flight.
     */
    void awaitRoom(long messages, long bytes, long more) throws IOException, InterruptedException {
        if (isAbove(messages, bytes, more) && (inFlight[0] > messages || inFlight[1] > bytes)) {
            publisher.flush();
        }
        await(messages, bytes, more);
    }

    private boolean isAbove(long messages, long bytes, long more) {
        long[] state = publisher.state();
        inFlight[0] = state[PublisherCounter.IN_FLIGHT_MESSAGES.ordinal()];
        inFlight[1] = state[PublisherCounter.IN_FLIGHT_BYTES.ordinal()];
        inFlight[2] = state[PublisherCounter.UNWRITTEN_BYTES.ordinal()];
        return mayBeAbove(messages, bytes, more);
    }
}

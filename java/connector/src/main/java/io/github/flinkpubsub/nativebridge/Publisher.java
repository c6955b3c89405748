package io.github.flinkpubsub.nativebridge;

import org.apache.flink.annotation.Internal;

import java.io.IOException;

import javax.annotation.Nullable;

/**
 * One client that publishes to any number of topics; {@code docs/boundary.md} has the exact meaning
 * of each call. "Task" and "watcher" below are the threads that may call it.
 */
@Internal
public interface Publisher {

    /** {@link #await}: a failure is there to be taken. */
    int FAILURE = 1;

    /** {@link #await}: the target is reached. */
    int TARGET_REACHED = 2;

    /** {@link #await}: the publisher is closed. */
    int CLOSED = 4;

    /** Task: the number of a topic. */
    int topic(String topic) throws IOException;

    /**
     * Task: hands over messages; never waits for the network.
     *
     * @param ageNanos how long the oldest of them has waited already
     * @param inFlight is given the messages and the bytes that are now in flight, and those bytes
     *     of requests that are not written to the connection yet
     * @throws IOException the first failure after which the job cannot go on
     */
    void append(byte[] data, int length, int[] index, int count, long ageNanos, long[] inFlight)
            throws IOException;

    /** Task: makes everything accepted so far due now; does not wait. */
    void flush() throws IOException;

    /** Task: sets what {@link #await} waits for: at most so much in flight, and not yet written. */
    void target(long messages, long bytes, long unwritten) throws IOException;

    /** Watcher: waits for a failure, the target or the end; 0 when the time is over. */
    int await(long timeoutMillis) throws IOException;

    /** Any thread: the counters, in the order of {@link PublisherCounter}; also after close. */
    long[] state();

    /** Task: the next failure, or null. */
    @Nullable
    byte[] takeFailure() throws IOException;

    /** Task: sends what is left within the time, then drops it. A second call does nothing. */
    void close(long timeoutMillis) throws IOException;
}

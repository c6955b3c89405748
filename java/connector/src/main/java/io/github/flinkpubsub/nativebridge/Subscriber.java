package io.github.flinkpubsub.nativebridge;

import org.apache.flink.annotation.Internal;

import java.io.IOException;

/**
 * One client that reads any number of splits; {@code docs/boundary.md} has the exact meaning of
 * each call. "Task" and "fetcher" below are the threads that may call it.
 */
@Internal
public interface Subscriber {

    /** Fetcher: opens the streams of a subscription and answers the split's number. */
    int addSplit(String subscription) throws IOException;

    /** Fetcher: closes a split's streams and gives back what was not emitted. */
    void removeSplit(int split) throws IOException;

    /** Fetcher: stops and resumes reading a split. */
    void pause(int split, boolean paused) throws IOException;

    /**
     * Fetcher: waits for messages of any one split and puts them into the batch.
     *
     * @return false when there was none in time or {@link #wakeUp()} was called
     */
    boolean poll(NativeBatch batch, long timeoutMillis) throws IOException;

    /** Any thread: makes the running poll, or else the next, return at once. */
    void wakeUp();

    /**
     * Task: seals the leading {@code emitted[i]} messages of {@code splits[i]} under a checkpoint.
     */
    void snapshot(long checkpoint, int[] splits, long[] emitted) throws IOException;

    /**
     * Task: acknowledges what is sealed up to a checkpoint.
     *
     * @param confirm whether {@link #confirmed} is to tell what the service answers
     * @throws IOException why a stream has failed for good; the acks are on their way all the same
     */
    void complete(long checkpoint, boolean confirm) throws IOException;

    /**
     * Task: waits for the service's answers to acks that are to be confirmed.
     *
     * @return false when some are still missing
     * @throws IOException what the service refused
     */
    boolean confirmed(long timeoutMillis) throws IOException;

    /** Task: gives one message back. */
    void nack(int split, long sequence) throws IOException;

    /**
     * Task: neither acknowledges one message nor gives it back; it comes again when its lease has
     * run out.
     */
    void leave(int split, long sequence) throws IOException;

    /** Any thread: the counters, in the order of {@link SubscriberCounter}; also after close. */
    long[] counters();

    /** Task: sends the acks decided so far and gives the rest back. A second call does nothing. */
    void close(long timeoutMillis) throws IOException;
}

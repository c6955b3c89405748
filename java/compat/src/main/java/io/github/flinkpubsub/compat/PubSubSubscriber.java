package io.github.flinkpubsub.compat;

import com.google.pubsub.v1.ReceivedMessage;

import org.apache.flink.annotation.PublicEvolving;

import java.util.List;

/**
 * A client of one's own that reads one subscription, made by a {@link PubSubSubscriberFactory}.
 * Messages are pulled by the source's fetcher thread and acknowledged by the task's thread.
 */
@PublicEvolving
public interface PubSubSubscriber extends Acknowledger<String> {

    /**
     * The next messages; an empty list when there are none now. It may wait for messages, but while
     * it does the source neither starts nor ends: a few seconds are enough. What it throws fails
     * the job.
     */
    List<ReceivedMessage> pull();

    /** Called once, by the task's thread; a {@link #pull()} that is running should end. */
    void close() throws Exception;
}

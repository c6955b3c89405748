package io.github.flinkpubsub.sink;

import io.github.flinkpubsub.OutgoingMessage;
import io.github.flinkpubsub.TopicDestination;

import org.apache.flink.annotation.PublicEvolving;

import java.io.IOException;
import java.io.Serializable;

/**
 * Decides on messages that fail for a reason of their own: a serializer that throws, a limit of the
 * service, a refusal by the service. A failure that concerns more than the message, such as a
 * missing permission, always fails the job. Called by the task's thread only.
 */
@PublicEvolving
@FunctionalInterface
public interface FailedMessageHandler extends Serializable {

    /**
     * Returns to drop the message, throws to fail the job. A checkpoint completes only after the
     * handler has been called for every failed message before it.
     */
    void handle(FailedMessage message, Context context) throws Exception;

    /** Fails the job; the default. */
    static FailedMessageHandler failJob() {
        return FailJob.INSTANCE;
    }

    /** Drops the message, with a line in the log at most every ten seconds. */
    static FailedMessageHandler logAndDrop() {
        return new LogAndDrop();
    }

    /**
     * Publishes the message to another topic, unordered and with attributes that say what happened:
     * {@code pubsub-failed-connector}, {@code -destination}, {@code -error}, {@code -time} and
     * {@code -subtask}; an error is cut at 1,024 bytes. It is published before the checkpoint
     * completes; when that fails, the job fails, as it does for a payload that is too large for any
     * topic. The topic must exist: it is never created.
     */
    static FailedMessageHandler sendToDeadLetterTopic(TopicDestination topic) {
        return new DeadLetter(topic);
    }

    /** What a handler can use. */
    @PublicEvolving
    interface Context {

        /**
         * Publishes a message to a topic that exists; none is created. It is on the service before
         * the next checkpoint completes; when it fails, the job fails.
         */
        void publish(TopicDestination topic, OutgoingMessage message) throws IOException;

        /** The index of the writing subtask, from 0. */
        int subtaskIndex();

        /** The current time, in milliseconds since the epoch. */
        long currentTimeMillis();
    }
}

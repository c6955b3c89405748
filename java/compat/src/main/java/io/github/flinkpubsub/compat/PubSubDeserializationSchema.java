package io.github.flinkpubsub.compat;

import com.google.pubsub.v1.PubsubMessage;

import org.apache.flink.annotation.PublicEvolving;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.java.typeutils.ResultTypeQueryable;
import org.apache.flink.util.Collector;

import java.io.Serializable;

/**
 * Turns a message into records. Called by the task's thread only.
 *
 * <p>New code takes {@link io.github.flinkpubsub.PubSubDeserializationSchema}, which needs no
 * message object for each record.
 *
 * @param <T> the records' type
 */
@PublicEvolving
public interface PubSubDeserializationSchema<T> extends Serializable, ResultTypeQueryable<T> {

    /** Called once, before the first message. */
    default void open(DeserializationSchema.InitializationContext context) throws Exception {}

    /**
     * Whether this record says that no more will come. It is not emitted, and the whole source
     * ends, also its other subtasks. Messages that have not been emitted by then stay on the
     * subscription.
     */
    boolean isEndOfStream(T nextElement);

    /**
     * The record of a message, or null for none. What it throws fails the job.
     *
     * @param message with its attributes, id, publish time and ordering key
     */
    T deserialize(PubsubMessage message) throws Exception;

    /**
     * Collects the records of a message; by default what {@link #deserialize(PubsubMessage)}
     * answers.
     */
    default void deserialize(PubsubMessage message, Collector<T> out) throws Exception {
        T record = deserialize(message);
        if (record != null) {
            out.collect(record);
        }
    }
}

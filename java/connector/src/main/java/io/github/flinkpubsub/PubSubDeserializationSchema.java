package io.github.flinkpubsub;

import org.apache.flink.annotation.PublicEvolving;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.java.typeutils.ResultTypeQueryable;
import org.apache.flink.util.Collector;

import java.io.Serializable;

/**
 * Turns a message into records. Flink's {@link DeserializationSchema} sees the payload alone; this
 * one sees the whole message. Called by the task's thread only.
 *
 * @param <T> the records' type
 */
@PublicEvolving
public interface PubSubDeserializationSchema<T> extends Serializable, ResultTypeQueryable<T> {

    /** Called once, before the first message. */
    default void open(DeserializationSchema.InitializationContext context) throws Exception {}

    /**
     * Collects what the message holds: any number of records, also none. A message without records
     * is acknowledged like any other.
     *
     * <p>What this method throws is a failure of deserialization and is treated by the source's
     * failure policy; records collected before it stay emitted.
     *
     * @param message valid during this call
     * @param out takes the records; their timestamp is the source's event time
     */
    void deserialize(PubSubMessage message, Collector<T> out) throws Exception;
}

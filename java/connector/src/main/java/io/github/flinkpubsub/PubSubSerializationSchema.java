package io.github.flinkpubsub;

import org.apache.flink.annotation.PublicEvolving;
import org.apache.flink.api.common.serialization.SerializationSchema;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.util.function.SerializableFunction;

import java.io.Serializable;
import java.util.Map;

/**
 * Turns a record into a message. Called by the task's thread only.
 *
 * @param <T> the records' type
 */
@PublicEvolving
public interface PubSubSerializationSchema<T> extends Serializable {

    /** Called once, before the first record. */
    default void open(SerializationSchema.InitializationContext context) throws Exception {}

    /**
     * Fills the message. What this method throws is treated by the sink's failed-message handler.
     *
     * @param element the record
     * @param context its timestamp and the current watermark
     * @param message empty; to be filled and not to be kept
     * @return false to skip the record, which is counted in {@code recordsSkipped}
     */
    boolean serialize(T element, SinkWriter.Context context, OutgoingMessage message)
            throws Exception;

    /**
     * Messages whose payload a schema of Flink's encodes. A payload of null is a failure of the
     * serializer.
     */
    static <T> PubSubSerializationSchema<T> payload(SerializationSchema<T> schema) {
        return new PayloadSerializationSchema<>(
                OptionChecks.notNull("the schema of the payload", schema));
    }

    /**
     * This schema and, on top of it, an ordering key; null or empty for an unordered message. Needs
     * the publisher option {@code enableMessageOrdering}.
     */
    default PubSubSerializationSchema<T> withOrderingKey(SerializableFunction<T, String> key) {
        return new ExtendedSerializationSchema<>(
                this, OptionChecks.notNull("withOrderingKey", key), null);
    }

    /** This schema and, on top of it, attributes; null for none. */
    default PubSubSerializationSchema<T> withAttributes(
            SerializableFunction<T, Map<String, String>> attributes) {
        return new ExtendedSerializationSchema<>(
                this, null, OptionChecks.notNull("withAttributes", attributes));
    }
}

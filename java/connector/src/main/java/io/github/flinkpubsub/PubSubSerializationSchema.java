package io.github.flinkpubsub;

import io.github.flinkpubsub.wire.MessageLimits;

import org.apache.flink.annotation.PublicEvolving;
import org.apache.flink.api.common.serialization.SerializationSchema;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.util.function.SerializableFunction;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
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
     * Whole messages: payload, attributes and ordering key of the record. A key needs the publisher
     * option {@code enableMessageOrdering}.
     */
    static PubSubSerializationSchema<PubSubRecord> records() {
        return (record, context, message) -> {
            message.payload(record.payloadArray())
                    .attributes(record.attributes())
                    .orderingKey(record.orderingKey());
            return true;
        };
    }

    /** Texts as UTF-8 payloads. */
    static PubSubSerializationSchema<String> strings() {
        return payload(new SimpleStringSchema(StandardCharsets.UTF_8));
    }

    /** What a function makes of a record, as a UTF-8 payload; null is a failure. */
    static <T> PubSubSerializationSchema<T> strings(SerializableFunction<T, String> text) {
        OptionChecks.notNull("strings", text);
        PubSubSerializationSchema<String> strings = strings();
        return (record, context, message) ->
                strings.serialize(
                        OptionChecks.notNull("the text of a record", text.apply(record)),
                        context,
                        message);
    }

    /**
     * This schema and, on top of it, an ordering key; null or empty for an unordered message. Needs
     * the publisher option {@code enableMessageOrdering}.
     */
    default PubSubSerializationSchema<T> withOrderingKey(SerializableFunction<T, String> key) {
        OptionChecks.notNull("withOrderingKey", key);
        return new ExtendedSerializationSchema<>(
                this, (element, context, message) -> message.orderingKey(key.apply(element)));
    }

    /** This schema and, on top of it, attributes; null for none. */
    default PubSubSerializationSchema<T> withAttributes(
            SerializableFunction<T, Map<String, String>> attributes) {
        OptionChecks.notNull("withAttributes", attributes);
        return new ExtendedSerializationSchema<>(
                this,
                (element, context, message) -> {
                    Map<String, String> all = attributes.apply(element);
                    if (all != null) {
                        message.attributes(all);
                    }
                });
    }

    /**
     * This schema and, on top of it, an attribute with the record's event time in milliseconds
     * since the epoch, which {@code timestampAttribute} of the source reads. A record without a
     * timestamp is a failure of the serializer.
     *
     * @param name of the attribute; 1 to 256 bytes of UTF-8, not starting with {@code goog}
     */
    default PubSubSerializationSchema<T> withTimestampAttribute(String name) {
        MessageLimits.checkAttributeName("withTimestampAttribute", name);
        return new ExtendedSerializationSchema<>(
                this,
                (element, context, message) -> {
                    Long timestamp = context.timestamp();
                    if (timestamp == null) {
                        throw new IllegalStateException(
                                "withTimestampAttribute(\""
                                        + name
                                        + "\") needs records with timestamps, which a"
                                        + " WatermarkStrategy assigns");
                    }
                    message.attribute(name, Long.toString(timestamp));
                });
    }

    /**
     * This schema and, on top of it, an attribute with an id that is the same whenever the record
     * is written, so that consumers can tell a message that was published twice. An id that is null
     * or empty is a failure of the serializer.
     *
     * @param name of the attribute; 1 to 256 bytes of UTF-8, not starting with {@code goog}
     * @param id of a record; at most 1,024 bytes of UTF-8
     */
    default PubSubSerializationSchema<T> withIdAttribute(
            String name, SerializableFunction<T, String> id) {
        MessageLimits.checkAttributeName("withIdAttribute", name);
        OptionChecks.notNull("withIdAttribute", id);
        return new ExtendedSerializationSchema<>(
                this,
                (element, context, message) -> {
                    String value = id.apply(element);
                    if (value == null || value.isEmpty()) {
                        throw new IllegalStateException(
                                "withIdAttribute(\"" + name + "\") made no id of a record");
                    }
                    message.attribute(name, value);
                });
    }
}

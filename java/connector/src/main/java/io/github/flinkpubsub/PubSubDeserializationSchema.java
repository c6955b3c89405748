package io.github.flinkpubsub;

import io.github.flinkpubsub.source.reader.PayloadSchemas;

import org.apache.flink.annotation.PublicEvolving;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.typeutils.ResultTypeQueryable;
import org.apache.flink.util.Collector;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.EnumSet;

import javax.annotation.Nullable;

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

    /** Whole messages: payload, attributes, message id, publish time and ordering key. */
    static PubSubDeserializationSchema<PubSubRecord> records() {
        return recordsWith(PubSubRecord.Part.values());
    }

    /**
     * Messages with their payload and these parts; the others are null, and the attributes empty.
     * With none of them the record has a payload alone, and nothing else is decoded.
     */
    static PubSubDeserializationSchema<PubSubRecord> recordsWith(PubSubRecord.Part... parts) {
        EnumSet<PubSubRecord.Part> wanted = EnumSet.noneOf(PubSubRecord.Part.class);
        wanted.addAll(Arrays.asList(parts));
        return new MessageSchemas.Records(wanted);
    }

    /** Payloads as UTF-8 texts. */
    static PubSubDeserializationSchema<String> strings() {
        return PayloadSchemas.of(new SimpleStringSchema(StandardCharsets.UTF_8));
    }

    /**
     * What a function makes of a message.
     *
     * @param type of the records
     * @param parser called by the task's thread; null makes no record, and what it throws is a
     *     failure of deserialization
     */
    static <T> PubSubDeserializationSchema<T> parsing(TypeInformation<T> type, Parser<T> parser) {
        return new MessageSchemas.Parsed<>(
                OptionChecks.notNull("type", type), OptionChecks.notNull("parser", parser));
    }

    /**
     * This schema's records, each with the id that its publisher gave it in an attribute, for
     * {@link Deduplication}. A message without the attribute is named by its message id, so that
     * only the service's own duplicates of it are told.
     *
     * @param name of the attribute, which {@link PubSubSerializationSchema#withIdAttribute} writes
     */
    default PubSubDeserializationSchema<Tuple2<String, T>> withIdAttribute(String name) {
        return new MessageSchemas.WithId<>(OptionChecks.notBlank("withIdAttribute", name), this);
    }

    /**
     * Makes a record of a message.
     *
     * @param <T> the records' type
     */
    @PublicEvolving
    @FunctionalInterface
    interface Parser<T> extends Serializable {

        /**
         * The record, or null for none.
         *
         * @param message valid during this call
         */
        @Nullable
        T parse(PubSubMessage message) throws Exception;
    }
}

package io.github.flinkpubsub;

import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.util.Collector;

import java.util.Collections;
import java.util.EnumSet;

/** The schemas that come with the source. */
final class MessageSchemas {

    private MessageSchemas() {}

    /** Whole messages, with the parts that are wanted. */
    static final class Records implements PubSubDeserializationSchema<PubSubRecord> {

        private static final long serialVersionUID = 1L;

        private final EnumSet<PubSubRecord.Part> parts;

        Records(EnumSet<PubSubRecord.Part> parts) {
            this.parts = parts;
        }

        private boolean has(PubSubRecord.Part part) {
            return parts.contains(part);
        }

        @Override
        public void deserialize(PubSubMessage message, Collector<PubSubRecord> out) {
            out.collect(
                    new PubSubRecord(
                            message.payloadBytes(),
                            has(PubSubRecord.Part.ATTRIBUTES)
                                    ? message.attributes()
                                    : Collections.emptyMap(),
                            has(PubSubRecord.Part.MESSAGE_ID) ? message.messageId() : null,
                            has(PubSubRecord.Part.PUBLISH_TIME) ? message.publishTime() : null,
                            has(PubSubRecord.Part.ORDERING_KEY) ? message.orderingKey() : null,
                            null));
        }

        @Override
        public TypeInformation<PubSubRecord> getProducedType() {
            return PubSubRecordTypeInfo.INSTANCE;
        }
    }

    /** What a function makes of a message. */
    static final class Parsed<T> implements PubSubDeserializationSchema<T> {

        private static final long serialVersionUID = 1L;

        private final TypeInformation<T> type;
        private final PubSubDeserializationSchema.Parser<T> parser;

        Parsed(TypeInformation<T> type, PubSubDeserializationSchema.Parser<T> parser) {
            this.type = type;
            this.parser = parser;
        }

        @Override
        public void deserialize(PubSubMessage message, Collector<T> out) throws Exception {
            T record = parser.parse(message);
            if (record != null) {
                out.collect(record);
            }
        }

        @Override
        public TypeInformation<T> getProducedType() {
            return type;
        }
    }

    /** Records with the id that tells their messages apart. */
    static final class WithId<T> implements PubSubDeserializationSchema<Tuple2<String, T>> {

        private static final long serialVersionUID = 1L;

        /** Keeps message ids and ids of the publisher's apart. */
        private static final String MESSAGE_ID_PREFIX = "\u0000";

        private final String attribute;
        private final PubSubDeserializationSchema<T> schema;

        WithId(String attribute, PubSubDeserializationSchema<T> schema) {
            this.attribute = attribute;
            this.schema = schema;
        }

        @Override
        public void open(DeserializationSchema.InitializationContext context) throws Exception {
            schema.open(context);
        }

        @Override
        public void deserialize(PubSubMessage message, Collector<Tuple2<String, T>> out)
                throws Exception {
            String given = message.attribute(attribute);
            String id =
                    given == null || given.isEmpty()
                            ? MESSAGE_ID_PREFIX + message.messageId()
                            : given;
            schema.deserialize(message, new Numbered<>(id, out));
        }

        @Override
        public TypeInformation<Tuple2<String, T>> getProducedType() {
            return Types.TUPLE(Types.STRING, schema.getProducedType());
        }
    }

    /** Several records of a message are told apart by their position. */
    private static final class Numbered<T> implements Collector<T> {

        private final String id;
        private final Collector<Tuple2<String, T>> out;
        private int records;

        Numbered(String id, Collector<Tuple2<String, T>> out) {
            this.id = id;
            this.out = out;
        }

        @Override
        public void collect(T record) {
            out.collect(Tuple2.of(records == 0 ? id : id + "\u0000" + records, record));
            records++;
        }

        @Override
        public void close() {}
    }
}

package io.github.flinkpubsub.formats;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;

import io.github.flinkpubsub.PubSubDeserializationSchema;
import io.github.flinkpubsub.PubSubMessage;
import io.github.flinkpubsub.PubSubSerializationSchema;

import org.apache.flink.annotation.PublicEvolving;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.types.Row;
import org.apache.flink.util.Collector;

/**
 * Payloads in protobuf's binary form. Needs {@code protobuf-java}, 4.x, which comes with generated
 * classes.
 */
@PublicEvolving
public final class ProtobufSchemas {

    private ProtobufSchemas() {}

    /**
     * Messages of a generated class.
     *
     * @throws IllegalArgumentException for another class
     */
    public static <T extends Message> PubSubDeserializationSchema<T> reading(Class<T> type) {
        return new Messages<>(MessageKind.of(type));
    }

    /** Messages of a type that is known only when the job is built. */
    public static PubSubDeserializationSchema<DynamicMessage> reading(Descriptor descriptor) {
        return new Messages<>(MessageKind.of(descriptor));
    }

    /**
     * Messages as rows with a field for each of theirs, in the order of the definition. Messages
     * become rows, {@code google.protobuf.Timestamp}s {@link java.time.Instant}s, repeated fields
     * arrays, maps {@link java.util.Map}s, enums their names and bytes arrays of bytes. Numbers are
     * as in generated Java classes. A field that tells whether it is set is null when it is not.
     *
     * @throws IllegalArgumentException when a message holds itself, for which rows have no type
     */
    public static PubSubDeserializationSchema<Row> readingRows(Descriptor descriptor) {
        return new Rows(MessageKind.of(descriptor));
    }

    /** Messages of a generated class as rows; see {@link #readingRows(Descriptor)}. */
    public static PubSubDeserializationSchema<Row> readingRows(Class<? extends Message> type) {
        return readingRows(MessageKind.of(type).descriptor());
    }

    /** Messages of any type. */
    public static <T extends Message> PubSubSerializationSchema<T> writing() {
        return (message, context, out) -> {
            out.payload(message.toByteArray());
            return true;
        };
    }

    private static final class Messages<T extends Message>
            implements PubSubDeserializationSchema<T> {

        private static final long serialVersionUID = 1L;

        private final MessageKind<T> kind;

        Messages(MessageKind<T> kind) {
            this.kind = kind;
        }

        @Override
        public void deserialize(PubSubMessage message, Collector<T> out) throws Exception {
            out.collect(kind.parser().parseFrom(message.payload()));
        }

        @Override
        public TypeInformation<T> getProducedType() {
            return new ProtobufTypeInfo<>(kind);
        }
    }

    private static final class Rows implements PubSubDeserializationSchema<Row> {

        private static final long serialVersionUID = 1L;

        private final MessageKind<DynamicMessage> kind;
        private final TypeInformation<Row> type;

        Rows(MessageKind<DynamicMessage> kind) {
            this.kind = kind;
            type = ProtobufRows.type(kind.descriptor());
        }

        @Override
        public void deserialize(PubSubMessage message, Collector<Row> out) throws Exception {
            out.collect(ProtobufRows.row(kind.parser().parseFrom(message.payload())));
        }

        @Override
        public TypeInformation<Row> getProducedType() {
            return type;
        }
    }
}

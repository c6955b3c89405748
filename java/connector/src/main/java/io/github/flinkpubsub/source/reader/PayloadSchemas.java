package io.github.flinkpubsub.source.reader;

import io.github.flinkpubsub.PubSubDeserializationSchema;
import io.github.flinkpubsub.PubSubMessage;

import org.apache.flink.annotation.Internal;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.util.Collector;

/** Flink's schemas, which see the payload alone, as schemas of messages. */
@Internal
public final class PayloadSchemas {

    private PayloadSchemas() {}

    public static <T> PubSubDeserializationSchema<T> of(DeserializationSchema<T> schema) {
        if (schema.getClass() == SimpleStringSchema.class) {
            // T is String then.
            @SuppressWarnings("unchecked")
            PubSubDeserializationSchema<T> text =
                    (PubSubDeserializationSchema<T>) new Text((SimpleStringSchema) (Object) schema);
            return text;
        }
        return new Payload<>(schema);
    }

    private static final class Payload<T> implements PubSubDeserializationSchema<T> {

        private static final long serialVersionUID = 1L;

        private final DeserializationSchema<T> schema;

        Payload(DeserializationSchema<T> schema) {
            this.schema = schema;
        }

        @Override
        public void open(DeserializationSchema.InitializationContext context) throws Exception {
            schema.open(context);
        }

        @Override
        public void deserialize(PubSubMessage message, Collector<T> out) throws Exception {
            schema.deserialize(message.payloadBytes(), out);
        }

        @Override
        public TypeInformation<T> getProducedType() {
            return schema.getProducedType();
        }
    }

    /** What {@link SimpleStringSchema} does, without the copy of the payload that it would need. */
    private static final class Text implements PubSubDeserializationSchema<String> {

        private static final long serialVersionUID = 1L;

        private final SimpleStringSchema schema;

        Text(SimpleStringSchema schema) {
            this.schema = schema;
        }

        @Override
        public void deserialize(PubSubMessage message, Collector<String> out) {
            out.collect(((MessageView) message).payloadText(schema.getCharset()));
        }

        @Override
        public TypeInformation<String> getProducedType() {
            return schema.getProducedType();
        }
    }
}

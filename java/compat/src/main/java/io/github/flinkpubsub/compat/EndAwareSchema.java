package io.github.flinkpubsub.compat;

import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.PubSubDeserializationSchema;
import io.github.flinkpubsub.PubSubMessage;

import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.util.Collector;

/**
 * One of Apache's schemas, watched for the record that ends the source. That record and what the
 * schema collects after it are not emitted.
 */
final class EndAwareSchema<T> implements PubSubDeserializationSchema<T> {

    private static final long serialVersionUID = 1L;

    private final io.github.flinkpubsub.compat.PubSubDeserializationSchema<T> schema;
    private transient UntilEnd<T> collector;

    EndAwareSchema(io.github.flinkpubsub.compat.PubSubDeserializationSchema<T> schema) {
        this.schema = schema;
    }

    @Override
    public void open(DeserializationSchema.InitializationContext context) throws Exception {
        collector = new UntilEnd<>(schema);
        schema.open(context);
    }

    /** Whether the record has come. */
    boolean ended() {
        return collector.ended;
    }

    @Override
    public void deserialize(PubSubMessage message, Collector<T> out) throws Exception {
        collector.out = out;
        if (schema instanceof PayloadSchema) {
            ((PayloadSchema<T>) schema).deserialize(message.payloadBytes(), collector);
        } else {
            schema.deserialize(PubsubMessage.parseFrom(message.encoded()), collector);
        }
    }

    void deserialize(PubsubMessage message, Collector<T> out) throws Exception {
        collector.out = out;
        schema.deserialize(message, collector);
    }

    @Override
    public TypeInformation<T> getProducedType() {
        return schema.getProducedType();
    }

    private static final class UntilEnd<T> implements Collector<T> {

        private final io.github.flinkpubsub.compat.PubSubDeserializationSchema<T> schema;
        private Collector<T> out;
        private boolean ended;

        UntilEnd(io.github.flinkpubsub.compat.PubSubDeserializationSchema<T> schema) {
            this.schema = schema;
        }

        @Override
        public void collect(T record) {
            ended = ended || schema.isEndOfStream(record);
            if (!ended) {
                out.collect(record);
            }
        }

        @Override
        public void close() {}
    }
}

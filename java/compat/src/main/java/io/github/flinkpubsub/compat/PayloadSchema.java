package io.github.flinkpubsub.compat;

import com.google.pubsub.v1.PubsubMessage;

import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.util.Collector;

import java.io.IOException;

/** A schema of Flink's, which sees the payload alone, as a schema of messages. */
final class PayloadSchema<T> implements PubSubDeserializationSchema<T> {

    private static final long serialVersionUID = 1L;

    private final DeserializationSchema<T> schema;

    PayloadSchema(DeserializationSchema<T> schema) {
        this.schema = schema;
    }

    @Override
    public void open(DeserializationSchema.InitializationContext context) throws Exception {
        schema.open(context);
    }

    @Override
    public boolean isEndOfStream(T nextElement) {
        return schema.isEndOfStream(nextElement);
    }

    @Override
    public T deserialize(PubsubMessage message) throws IOException {
        return schema.deserialize(message.getData().toByteArray());
    }

    @Override
    public void deserialize(PubsubMessage message, Collector<T> out) throws IOException {
        deserialize(message.getData().toByteArray(), out);
    }

    void deserialize(byte[] payload, Collector<T> out) throws IOException {
        schema.deserialize(payload, out);
    }

    @Override
    public TypeInformation<T> getProducedType() {
        return schema.getProducedType();
    }
}

package io.github.flinkpubsub;

import org.apache.flink.api.common.serialization.SerializationSchema;
import org.apache.flink.api.connector.sink2.SinkWriter;

/** A payload made by a schema of Flink's. */
final class PayloadSerializationSchema<T> implements PubSubSerializationSchema<T> {

    private static final long serialVersionUID = 1L;

    private final SerializationSchema<T> schema;

    PayloadSerializationSchema(SerializationSchema<T> schema) {
        this.schema = schema;
    }

    @Override
    public void open(SerializationSchema.InitializationContext context) throws Exception {
        schema.open(context);
    }

    @Override
    public boolean serialize(T element, SinkWriter.Context context, OutgoingMessage message) {
        byte[] payload = schema.serialize(element);
        if (payload == null) {
            throw new IllegalArgumentException(
                    schema.getClass().getName() + " made a payload of null");
        }
        message.payload(payload);
        return true;
    }
}

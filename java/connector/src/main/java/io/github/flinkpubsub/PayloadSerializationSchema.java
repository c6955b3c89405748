package io.github.flinkpubsub;

import io.github.flinkpubsub.wire.TextEncoder;

import org.apache.flink.api.common.serialization.SerializationSchema;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.connector.sink2.SinkWriter;

import java.nio.charset.StandardCharsets;

import javax.annotation.Nullable;

/** A payload made by a schema of Flink's. */
final class PayloadSerializationSchema<T> implements PubSubSerializationSchema<T> {

    private static final long serialVersionUID = 1L;

    private final SerializationSchema<T> schema;

    /** Encodes strings in place of the schema, where it does nothing else. */
    @Nullable private transient TextEncoder encoder;

    PayloadSerializationSchema(SerializationSchema<T> schema) {
        this.schema = schema;
    }

    @Override
    public void open(SerializationSchema.InitializationContext context) throws Exception {
        schema.open(context);
        boolean text =
                schema.getClass() == SimpleStringSchema.class
                        && ((SimpleStringSchema) schema).getCharset() == StandardCharsets.UTF_8;
        encoder = text && TextEncoder.isFast() ? new TextEncoder() : null;
    }

    @Override
    public boolean serialize(T element, SinkWriter.Context context, OutgoingMessage message) {
        if (encoder != null && element != null) {
            String text = (String) element;
            if (text.length() <= TextEncoder.MAX_CHARS) {
                int length = encoder.encode(text);
                message.payload(encoder.array(), 0, length);
                return true;
            }
        }
        byte[] payload = schema.serialize(element);
        if (payload == null) {
            throw new IllegalArgumentException(
                    schema.getClass().getName() + " made a payload of null");
        }
        message.payload(payload);
        return true;
    }
}

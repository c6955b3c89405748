package io.github.flinkpubsub;

import org.apache.flink.api.common.serialization.SerializationSchema;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.util.function.SerializableFunction;

import java.util.Map;

import javax.annotation.Nullable;

/** A schema with attributes or an ordering key added to what it makes. */
final class ExtendedSerializationSchema<T> implements PubSubSerializationSchema<T> {

    private static final long serialVersionUID = 1L;

    private final PubSubSerializationSchema<T> base;
    @Nullable private final SerializableFunction<T, String> orderingKey;
    @Nullable private final SerializableFunction<T, Map<String, String>> attributes;

    ExtendedSerializationSchema(
            PubSubSerializationSchema<T> base,
            @Nullable SerializableFunction<T, String> orderingKey,
            @Nullable SerializableFunction<T, Map<String, String>> attributes) {
        this.base = base;
        this.orderingKey = orderingKey;
        this.attributes = attributes;
    }

    @Override
    public void open(SerializationSchema.InitializationContext context) throws Exception {
        base.open(context);
    }

    @Override
    public boolean serialize(T element, SinkWriter.Context context, OutgoingMessage message)
            throws Exception {
        if (!base.serialize(element, context, message)) {
            return false;
        }
        if (attributes != null) {
            Map<String, String> all = attributes.apply(element);
            if (all != null) {
                message.attributes(all);
            }
        }
        if (orderingKey != null) {
            message.orderingKey(orderingKey.apply(element));
        }
        return true;
    }
}

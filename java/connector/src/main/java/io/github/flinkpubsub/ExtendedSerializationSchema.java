package io.github.flinkpubsub;

import org.apache.flink.api.common.serialization.SerializationSchema;
import org.apache.flink.api.connector.sink2.SinkWriter;

import java.io.Serializable;

/** A schema with something added to the messages that another one makes. */
final class ExtendedSerializationSchema<T> implements PubSubSerializationSchema<T> {

    private static final long serialVersionUID = 1L;

    private final PubSubSerializationSchema<T> base;
    private final Extension<T> extension;

    ExtendedSerializationSchema(PubSubSerializationSchema<T> base, Extension<T> extension) {
        this.base = base;
        this.extension = extension;
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
        extension.extend(element, context, message);
        return true;
    }

    /** Adds to a message that is not skipped. */
    @FunctionalInterface
    interface Extension<T> extends Serializable {
        void extend(T element, SinkWriter.Context context, OutgoingMessage message)
                throws Exception;
    }
}

package io.github.flinkpubsub.it;

import io.github.flinkpubsub.OutgoingMessage;
import io.github.flinkpubsub.PubSubSerializationSchema;

import org.apache.flink.api.connector.sink2.SinkWriter;

import java.nio.charset.StandardCharsets;

/** The record behind its timestamp. */
final class WithTimestamp implements PubSubSerializationSchema<String> {

    private static final long serialVersionUID = 1L;

    @Override
    public boolean serialize(String element, SinkWriter.Context context, OutgoingMessage message) {
        String text = context.timestamp() + "|" + element;
        message.payload(text.getBytes(StandardCharsets.UTF_8));
        return true;
    }
}

package io.github.flinkpubsub.examples;

import io.github.flinkpubsub.OutgoingMessage;
import io.github.flinkpubsub.PubSubSerializationSchema;

import org.apache.flink.api.connector.sink2.SinkWriter;

import java.nio.charset.StandardCharsets;

/**
 * An alert's message: a line of text, in order by network, with the event's id to tell it again.
 */
final class AlertSchema implements PubSubSerializationSchema<Alert> {
    private static final long serialVersionUID = 1L;

    @Override
    public boolean serialize(Alert alert, SinkWriter.Context context, OutgoingMessage message) {
        message.payload(alert.encode().getBytes(StandardCharsets.UTF_8))
                .orderingKey(alert.network)
                .attribute("id", alert.id);
        return true;
    }
}

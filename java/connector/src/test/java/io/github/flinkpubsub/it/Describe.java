package io.github.flinkpubsub.it;

import io.github.flinkpubsub.PubSubDeserializationSchema;
import io.github.flinkpubsub.PubSubMessage;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.util.Collector;

import java.util.Arrays;
import java.util.TreeMap;

/** All parts of a message as one text. */
final class Describe implements PubSubDeserializationSchema<String> {

    private static final long serialVersionUID = 1L;

    @Override
    public void deserialize(PubSubMessage message, Collector<String> out) {
        byte[] payload = new byte[message.payloadSize()];
        message.payload().get(payload);
        out.collect(
                String.join(
                        "|",
                        Arrays.toString(payload),
                        new TreeMap<>(message.attributes()).toString(),
                        message.attribute("emoji 😀"),
                        message.attribute("none"),
                        message.orderingKey(),
                        message.messageId(),
                        Integer.toString(message.deliveryAttempt()),
                        message.subscription().path(),
                        message.publishTime().toString()));
    }

    @Override
    public TypeInformation<String> getProducedType() {
        return Types.STRING;
    }
}

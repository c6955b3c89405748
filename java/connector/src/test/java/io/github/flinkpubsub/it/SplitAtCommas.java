package io.github.flinkpubsub.it;

import io.github.flinkpubsub.PubSubDeserializationSchema;
import io.github.flinkpubsub.PubSubMessage;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.util.Collector;

import java.nio.charset.StandardCharsets;

/** One record for each part of the payload, none for an empty payload. */
final class SplitAtCommas implements PubSubDeserializationSchema<String> {

    private static final long serialVersionUID = 1L;

    @Override
    public void deserialize(PubSubMessage message, Collector<String> out) {
        if (message.payloadSize() == 0) {
            return;
        }
        for (String part : new String(message.payloadBytes(), StandardCharsets.UTF_8).split(",")) {
            out.collect(part);
        }
    }

    @Override
    public TypeInformation<String> getProducedType() {
        return Types.STRING;
    }
}

package io.github.flinkpubsub.it;

import org.apache.flink.api.common.serialization.AbstractDeserializationSchema;

import java.nio.charset.StandardCharsets;

/** Decimal numbers; throws at everything else. */
final class Numbers extends AbstractDeserializationSchema<Long> {

    private static final long serialVersionUID = 1L;

    @Override
    public Long deserialize(byte[] payload) {
        return Long.valueOf(new String(payload, StandardCharsets.UTF_8));
    }
}

package io.github.flinkpubsub.wire;

import org.apache.flink.annotation.Internal;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

import javax.annotation.Nullable;

/** A message read back from the form in which {@link MessageBlock} has written it. */
@Internal
public final class WireMessage {

    private static final int DATA = 1;
    private static final int ORDERING_KEY = 5;

    private final byte[] payload;
    private final Map<String, String> attributes;
    @Nullable private final String orderingKey;

    private WireMessage(
            byte[] payload, Map<String, String> attributes, @Nullable String orderingKey) {
        this.payload = payload;
        this.attributes = attributes;
        this.orderingKey = orderingKey;
    }

    /** Reads one message, with the tag and length that precede it in a request. */
    public static WireMessage parse(byte[] encoded) {
        WireReader in = new WireReader(encoded, 0, encoded.length);
        in.tag();
        int length = in.varint();
        int start = in.position();
        byte[] payload = new byte[0];
        String orderingKey = null;
        while (in.hasMore()) {
            int tag = in.tag();
            if (WireReader.field(tag) == DATA || WireReader.field(tag) == ORDERING_KEY) {
                int size = in.varint();
                int from = in.position();
                if (WireReader.field(tag) == DATA) {
                    payload = Arrays.copyOfRange(encoded, from, from + size);
                } else {
                    orderingKey = new String(encoded, from, size, StandardCharsets.UTF_8);
                }
                in.advance(size);
            } else {
                in.skip(tag);
            }
        }
        Map<String, String> attributes = new LinkedHashMap<>();
        AttributeScanner scanner = new AttributeScanner();
        scanner.start(encoded, start, length);
        while (scanner.next()) {
            attributes.put(scanner.name(), scanner.value());
        }
        return new WireMessage(payload, attributes, orderingKey);
    }

    public byte[] payload() {
        return payload;
    }

    public Map<String, String> attributes() {
        return attributes;
    }

    /** Null when there is none. */
    @Nullable
    public String orderingKey() {
        return orderingKey;
    }
}

package io.github.flinkpubsub;

import org.apache.flink.annotation.Internal;
import org.apache.flink.annotation.PublicEvolving;

import java.util.Arrays;
import java.util.Map;

import javax.annotation.Nullable;

/**
 * A message to be published, filled by a serializer. The sink uses one object again and again: it
 * must not be kept. Payload or at least one attribute is needed.
 */
@PublicEvolving
public final class OutgoingMessage {

    private static final byte[] NO_PAYLOAD = new byte[0];

    private byte[] payload = NO_PAYLOAD;
    private int payloadOffset;
    private int payloadLength;
    private String[] attributes = new String[16];
    private int attributeCount;
    @Nullable private String orderingKey;

    /** Sets the payload; the array must not change until the serializer is called again. */
    public OutgoingMessage payload(byte[] payload) {
        if (payload == null) {
            throw new IllegalArgumentException("payload must not be null");
        }
        return payload(payload, 0, payload.length);
    }

    /** Sets the payload to a part of an array, which must not change until the next call. */
    public OutgoingMessage payload(byte[] payload, int offset, int length) {
        if (payload == null) {
            throw new IllegalArgumentException("payload must not be null");
        }
        if (offset < 0 || length < 0 || length > payload.length - offset) {
            throw new IllegalArgumentException(
                    "payload has "
                            + payload.length
                            + " bytes, which do not hold "
                            + length
                            + " from "
                            + offset);
        }
        this.payload = payload;
        payloadOffset = offset;
        payloadLength = length;
        return this;
    }

    /** Sets an attribute; one of the same name is replaced. */
    public OutgoingMessage attribute(String name, String value) {
        if (name == null) {
            throw new IllegalArgumentException("the name of an attribute must not be null");
        }
        if (value == null) {
            throw new IllegalArgumentException(
                    "the value of attribute '" + name + "' must not be null");
        }
        int at = 0;
        while (at < attributeCount && !attributes[2 * at].equals(name)) {
            at++;
        }
        if (at == attributeCount) {
            attributeCount++;
            if (2 * attributeCount > attributes.length) {
                attributes = Arrays.copyOf(attributes, 2 * attributes.length);
            }
            attributes[2 * at] = name;
        }
        attributes[2 * at + 1] = value;
        return this;
    }

    /** Sets attributes; those of the same name are replaced. */
    public OutgoingMessage attributes(Map<String, String> attributes) {
        for (Map.Entry<String, String> entry : attributes.entrySet()) {
            attribute(entry.getKey(), entry.getValue());
        }
        return this;
    }

    /** Sets the ordering key; null or empty for an unordered message. */
    public OutgoingMessage orderingKey(@Nullable String key) {
        orderingKey = key == null || key.isEmpty() ? null : key;
        return this;
    }

    /** Empties the message. */
    @Internal
    public void clear() {
        payload = NO_PAYLOAD;
        payloadOffset = 0;
        payloadLength = 0;
        attributeCount = 0;
        orderingKey = null;
    }

    /** The array that holds the payload, from {@link #payloadOffset()} on. */
    public byte[] payload() {
        return payload;
    }

    /** Where the payload begins in its array. */
    public int payloadOffset() {
        return payloadOffset;
    }

    /** The payload's length in bytes. */
    public int payloadLength() {
        return payloadLength;
    }

    /** The number of attributes. */
    public int attributeCount() {
        return attributeCount;
    }

    /** The name of an attribute, counted from 0 in the order of setting. */
    public String attributeName(int attribute) {
        return attributes[2 * attribute];
    }

    /** The value of an attribute, counted from 0 in the order of setting. */
    public String attributeValue(int attribute) {
        return attributes[2 * attribute + 1];
    }

    /** The ordering key; null for an unordered message. */
    @Nullable
    public String orderingKey() {
        return orderingKey;
    }
}

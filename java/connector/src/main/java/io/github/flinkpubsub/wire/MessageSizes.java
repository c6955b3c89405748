package io.github.flinkpubsub.wire;

import io.github.flinkpubsub.OutgoingMessage;

/** The lengths of a message's parts as UTF-8, which also tell whether it is within the limits. */
final class MessageSizes {

    private final AttributeEntries entries = new AttributeEntries();
    private int orderingKey;
    private int body;

    /** Measures a message; answers the length of its encoded body. */
    int measure(OutgoingMessage message) throws InvalidMessageException {
        int payload = message.payloadLength();
        int attributes = message.attributeCount();
        if (payload > MessageLimits.PAYLOAD_BYTES) {
            throw above("payload", payload, MessageLimits.PAYLOAD_BYTES);
        }
        if (attributes > MessageLimits.ATTRIBUTES) {
            throw new InvalidMessageException(
                    "a message has "
                            + attributes
                            + " attributes, above the service's limit of "
                            + MessageLimits.ATTRIBUTES);
        }
        if (payload == 0 && attributes == 0) {
            throw new InvalidMessageException(
                    "a message has neither payload nor attributes, of which the service needs one");
        }
        int total = payload == 0 ? 0 : field(payload);
        for (int i = 0; i < attributes; i++) {
            total += field(entries.measure(message, i));
        }
        orderingKey = 0;
        String key = message.orderingKey();
        if (key != null) {
            orderingKey = length("ordering key", key, MessageLimits.ORDERING_KEY_BYTES);
            total += field(orderingKey);
        }
        body = total;
        return total;
    }

    int body() {
        return body;
    }

    AttributeEntries entries() {
        return entries;
    }

    /** 0 for none. */
    int orderingKey() {
        return orderingKey;
    }

    /** The length of a number. */
    static int varint(int value) {
        int length = 1;
        for (int rest = value >>> 7; rest != 0; rest >>>= 7) {
            length++;
        }
        return length;
    }

    /** The length of a field of so many bytes, with its tag and its length. */
    static int field(int bytes) {
        return 1 + varint(bytes) + bytes;
    }

    /** Writes a number; answers the position behind it. */
    static int writeVarint(int value, byte[] target, int position) {
        int at = position;
        int rest = value;
        while (rest >= 0x80) {
            target[at++] = (byte) (rest | 0x80);
            rest >>>= 7;
        }
        target[at++] = (byte) rest;
        return at;
    }

    /** The length of a text within the limit. */
    static int length(String field, String text, int limit) throws InvalidMessageException {
        int length = Utf8.length(text);
        if (length < 0) {
            throw new InvalidMessageException(
                    field
                            + " has half of a surrogate pair at index "
                            + (-1 - length)
                            + " and cannot be written as UTF-8");
        }
        if (length > limit) {
            throw above(field, length, limit);
        }
        return length;
    }

    private static InvalidMessageException above(String field, int length, int limit) {
        return new InvalidMessageException(
                field + " has " + length + " bytes, above the service's limit of " + limit);
    }
}

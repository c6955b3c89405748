package io.github.flinkpubsub.wire;

import io.github.flinkpubsub.OutgoingMessage;

/** The lengths of a message's parts as UTF-8, which also tell whether it is within the limits. */
final class MessageSizes {

    private final int[] names = new int[MessageLimits.ATTRIBUTES];
    private final int[] values = new int[MessageLimits.ATTRIBUTES];
    private final String[] checkedNames = new String[MessageLimits.ATTRIBUTES];
    private final String[] checkedValues = new String[MessageLimits.ATTRIBUTES];
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
            total += field(measureAttribute(message, i));
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

    int name(int attribute) {
        return names[attribute];
    }

    int value(int attribute) {
        return values[attribute];
    }

    /** 0 for none. */
    int orderingKey() {
        return orderingKey;
    }

    /** The length of an attribute's entry. */
    static int entry(int name, int value) {
        return field(name) + field(value);
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
    private static int field(int bytes) {
        return 1 + varint(bytes) + bytes;
    }

    /**
     * Names, and often values, are the same objects in message after message: what was checked at
     * this place last time is not checked again.
     */
    private int measureAttribute(OutgoingMessage message, int i) throws InvalidMessageException {
        String name = message.attributeName(i);
        if (name != checkedNames[i]) {
            names[i] = nameLength(name);
            checkedNames[i] = name;
        }
        String value = message.attributeValue(i);
        if (value != checkedValues[i]) {
            values[i] = valueLength(name, value);
            checkedValues[i] = value;
        }
        return entry(names[i], values[i]);
    }

    private static int nameLength(String name) throws InvalidMessageException {
        int length = Utf8.length(name);
        if (length < 0 || length > MessageLimits.ATTRIBUTE_NAME_BYTES) {
            length(
                    "the name of attribute '" + name + "'",
                    name,
                    MessageLimits.ATTRIBUTE_NAME_BYTES);
        }
        if (name.startsWith(MessageLimits.RESERVED_PREFIX)) {
            throw new InvalidMessageException(
                    "the name of attribute '" + name + "' starts with 'goog', which is reserved");
        }
        return length;
    }

    private static int valueLength(String name, String value) throws InvalidMessageException {
        int length = Utf8.length(value);
        if (length < 0 || length > MessageLimits.ATTRIBUTE_VALUE_BYTES) {
            length(
                    "the value of attribute '" + name + "'",
                    value,
                    MessageLimits.ATTRIBUTE_VALUE_BYTES);
        }
        return length;
    }

    private static int length(String field, String text, int limit) throws InvalidMessageException {
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

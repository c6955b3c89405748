package io.github.flinkpubsub.wire;

import io.github.flinkpubsub.OutgoingMessage;

/**
 * Attributes as entries of the message's map field. Names, and often values, are the same objects
 * in message after message: what was checked at a place is not checked again, and an entry that
 * comes a second time is encoded once and copied from then on.
 */
final class AttributeEntries {

    private static final byte NAME_TAG = 1 << 3 | 2;
    private static final byte VALUE_TAG = 2 << 3 | 2;
    private static final byte[] NONE = new byte[0];

    private final Place[] places = new Place[MessageLimits.ATTRIBUTES];

    AttributeEntries() {
        for (int i = 0; i < places.length; i++) {
            places[i] = new Place();
        }
    }

    /** Checks an attribute; answers the length of its entry. */
    int measure(OutgoingMessage message, int attribute) throws InvalidMessageException {
        Place place = places[attribute];
        String name = message.attributeName(attribute);
        String value = message.attributeValue(attribute);
        if (name == place.name && value == place.value) {
            if (!place.encoded) {
                place.encode();
            }
        } else {
            place.set(name, value);
        }
        return place.entryLength;
    }

    /**
     * Writes the entry of the attribute that was measured last at this place, without its tag.
     *
     * @return the position behind it
     */
    int write(int attribute, byte[] target, int position) {
        Place place = places[attribute];
        if (place.encoded) {
            System.arraycopy(place.entry, 0, target, position, place.wholeLength);
            return position + place.wholeLength;
        }
        return place.write(target, position);
    }

    /** The attribute at one place of the message. */
    private static final class Place {
        private String name;
        private String value;
        private int nameLength;
        private int valueLength;
        private int entryLength;

        /** The entry with its length in front. */
        private int wholeLength;

        private byte[] entry = NONE;
        private boolean encoded;

        void set(String newName, String newValue) throws InvalidMessageException {
            // What is refused leaves the place as it is.
            int newNameLength = newName == name ? nameLength : nameLength(newName);
            int newValueLength = newValue == value ? valueLength : valueLength(newName, newValue);
            name = newName;
            nameLength = newNameLength;
            value = newValue;
            valueLength = newValueLength;
            entryLength = MessageSizes.field(nameLength) + MessageSizes.field(valueLength);
            wholeLength = MessageSizes.varint(entryLength) + entryLength;
            encoded = false;
        }

        void encode() {
            if (entry.length < wholeLength) {
                entry = new byte[wholeLength];
            }
            write(entry, 0);
            encoded = true;
        }

        int write(byte[] target, int position) {
            int at = MessageSizes.writeVarint(entryLength, target, position);
            target[at++] = NAME_TAG;
            at = MessageSizes.writeVarint(nameLength, target, at);
            at = Utf8.write(name, nameLength, target, at);
            target[at++] = VALUE_TAG;
            at = MessageSizes.writeVarint(valueLength, target, at);
            return Utf8.write(value, valueLength, target, at);
        }

        private static int nameLength(String name) throws InvalidMessageException {
            int length = Utf8.length(name);
            if (length < 0 || length > MessageLimits.ATTRIBUTE_NAME_BYTES) {
                MessageSizes.length(
                        "the name of attribute '" + name + "'",
                        name,
                        MessageLimits.ATTRIBUTE_NAME_BYTES);
            }
            if (name.startsWith(MessageLimits.RESERVED_PREFIX)) {
                throw new InvalidMessageException(
                        "the name of attribute '"
                                + name
                                + "' starts with 'goog', which is reserved");
            }
            return length;
        }

        private static int valueLength(String name, String value) throws InvalidMessageException {
            int length = Utf8.length(value);
            if (length < 0 || length > MessageLimits.ATTRIBUTE_VALUE_BYTES) {
                MessageSizes.length(
                        "the value of attribute '" + name + "'",
                        value,
                        MessageLimits.ATTRIBUTE_VALUE_BYTES);
            }
            return length;
        }
    }
}

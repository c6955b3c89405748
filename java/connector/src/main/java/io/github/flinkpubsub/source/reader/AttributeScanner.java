package io.github.flinkpubsub.source.reader;

import java.nio.charset.StandardCharsets;

/**
 * Walks the attributes of an encoded {@code PubsubMessage}: its field 2, entries with the name in
 * field 1 and the value in field 2. The library has checked the encoding before.
 */
final class AttributeScanner {

    private static final int ATTRIBUTES = 2;
    private static final int ENTRY_NAME = 1;
    private static final int ENTRY_VALUE = 2;

    private static final int VARINT = 0;
    private static final int FIXED64 = 1;
    private static final int LENGTH_DELIMITED = 2;
    private static final int FIXED32 = 5;

    private byte[] data;
    private int position;
    private int end;
    private int nameOffset;
    private int nameLength;
    private int valueOffset;
    private int valueLength;

    /** Starts on a message. */
    void start(byte[] data, int offset, int length) {
        this.data = data;
        position = offset;
        end = offset + length;
    }

    /** Moves to the next attribute; false when there is none. */
    boolean next() {
        while (position < end) {
            int tag = varint();
            if (tag == (ATTRIBUTES << 3 | LENGTH_DELIMITED)) {
                int length = varint();
                readEntry(position + length);
                return true;
            }
            skip(tag & 7);
        }
        return false;
    }

    String name() {
        return new String(data, nameOffset, nameLength, StandardCharsets.UTF_8);
    }

    String value() {
        return new String(data, valueOffset, valueLength, StandardCharsets.UTF_8);
    }

    boolean nameIs(byte[] utf8) {
        if (nameLength != utf8.length) {
            return false;
        }
        for (int i = 0; i < utf8.length; i++) {
            if (data[nameOffset + i] != utf8[i]) {
                return false;
            }
        }
        return true;
    }

    /** A part that is left out is empty. */
    private void readEntry(int entryEnd) {
        nameLength = 0;
        valueLength = 0;
        while (position < entryEnd) {
            int tag = varint();
            if (tag == (ENTRY_NAME << 3 | LENGTH_DELIMITED)) {
                nameLength = varint();
                nameOffset = position;
                position += nameLength;
            } else if (tag == (ENTRY_VALUE << 3 | LENGTH_DELIMITED)) {
                valueLength = varint();
                valueOffset = position;
                position += valueLength;
            } else {
                skip(tag & 7);
            }
        }
    }

    private void skip(int wireType) {
        switch (wireType) {
            case VARINT:
                varint();
                break;
            case FIXED64:
                position += 8;
                break;
            case LENGTH_DELIMITED:
                int length = varint();
                position += length;
                break;
            case FIXED32:
                position += 4;
                break;
            default:
                throw new IllegalStateException("a message with wire type " + wireType);
        }
    }

    private int varint() {
        int value = 0;
        for (int shift = 0; ; shift += 7) {
            byte b = data[position++];
            if (shift < 32) {
                value |= (b & 0x7f) << shift;
            }
            if (b >= 0) {
                return value;
            }
        }
    }
}

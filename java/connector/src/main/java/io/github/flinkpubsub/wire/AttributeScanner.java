package io.github.flinkpubsub.wire;

import org.apache.flink.annotation.Internal;

import java.nio.charset.StandardCharsets;

/**
 * Walks the attributes of an encoded {@code PubsubMessage}: its field 2, entries with the name in
 * field 1 and the value in field 2.
 */
@Internal
public final class AttributeScanner {

    private static final int ATTRIBUTE_TAG = 2 << 3 | WireReader.LENGTH_DELIMITED;
    private static final int NAME_TAG = 1 << 3 | WireReader.LENGTH_DELIMITED;
    private static final int VALUE_TAG = 2 << 3 | WireReader.LENGTH_DELIMITED;

    private final WireReader in = new WireReader();
    private byte[] data;
    private int nameOffset;
    private int nameLength;
    private int valueOffset;
    private int valueLength;

    /** Starts on a message. */
    public void start(byte[] data, int offset, int length) {
        this.data = data;
        in.start(data, offset, length);
    }

    /** Moves to the next attribute; false when there is none. */
    public boolean next() {
        while (in.hasMore()) {
            int tag = in.tag();
            if (tag == ATTRIBUTE_TAG) {
                int length = in.varint();
                readEntry(in.position() + length);
                return true;
            }
            in.skip(tag);
        }
        return false;
    }

    public String name() {
        return new String(data, nameOffset, nameLength, StandardCharsets.UTF_8);
    }

    public String value() {
        return new String(data, valueOffset, valueLength, StandardCharsets.UTF_8);
    }

    /** Whether the name is this one. */
    public boolean nameIs(byte[] utf8) {
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
    private void readEntry(int end) {
        nameLength = 0;
        valueLength = 0;
        while (in.position() < end) {
            int tag = in.tag();
            if (tag == NAME_TAG) {
                nameLength = in.varint();
                nameOffset = in.position();
                in.advance(nameLength);
            } else if (tag == VALUE_TAG) {
                valueLength = in.varint();
                valueOffset = in.position();
                in.advance(valueLength);
            } else {
                in.skip(tag);
            }
        }
    }
}

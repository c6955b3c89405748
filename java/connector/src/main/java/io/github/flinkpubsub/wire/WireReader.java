package io.github.flinkpubsub.wire;

/**
 * Reads protobuf's wire form. The bytes have been checked before: it does not expect broken ones.
 */
final class WireReader {

    static final int LENGTH_DELIMITED = 2;

    private static final int VARINT = 0;
    private static final int FIXED64 = 1;
    private static final int FIXED32 = 5;

    private byte[] data;
    private int position;
    private int end;

    WireReader() {}

    WireReader(byte[] data, int offset, int length) {
        start(data, offset, length);
    }

    void start(byte[] data, int offset, int length) {
        this.data = data;
        position = offset;
        end = offset + length;
    }

    /** The number of the field that a tag starts. */
    static int field(int tag) {
        return tag >>> 3;
    }

    boolean hasMore() {
        return position < end;
    }

    int position() {
        return position;
    }

    void advance(int bytes) {
        position += bytes;
    }

    int tag() {
        return varint();
    }

    int varint() {
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

    /** Passes over a field whose tag has been read. */
    void skip(int tag) {
        switch (tag & 7) {
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
                throw new IllegalStateException("a message with the tag " + tag);
        }
    }
}

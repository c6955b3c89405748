package io.github.flinkpubsub.nativebridge;

import org.apache.flink.annotation.Internal;

/**
 * Messages of one split as the library delivers them: the bytes, and for each message twelve
 * numbers that say where its parts lie. The arrays are used again and again; they grow to what the
 * largest message needs. Not thread-safe; handed from thread to thread as a whole.
 */
@Internal
public final class NativeBatch {

    /** Numbers in the index for each message. */
    public static final int STRIDE = 12;

    private static final int PAYLOAD = 0;
    private static final int MESSAGE_ID = 2;
    private static final int ORDERING_KEY = 4;
    private static final int MESSAGE = 6;
    private static final int PUBLISH_SECONDS = 8;
    private static final int PUBLISH_NANOS = 10;
    private static final int FLAGS = 11;

    private static final int ATTRIBUTES_MASK = 0xff;
    private static final int SKIP_BIT = 1 << 8;
    private static final int DELIVERY_ATTEMPT_SHIFT = 9;

    private byte[] data;
    private int[] index;
    private int count;
    private int split;
    private long first;

    /** Reserves space for a batch; it grows when it has to. */
    public NativeBatch(int bytes, int messages) {
        data = new byte[bytes];
        index = new int[messages * STRIDE];
    }

    /** Sets what the arrays hold now. */
    public void filled(int count, int split, long first) {
        this.count = count;
        this.split = split;
        this.first = first;
    }

    /** Makes room for at least so many bytes and index numbers; what was held is lost. */
    public void grow(long bytes, long indexLength) {
        if (bytes > data.length) {
            data = new byte[Math.toIntExact(bytes)];
        }
        if (indexLength > index.length) {
            index = new int[Math.toIntExact(indexLength)];
        }
    }

    /** The bytes that the offsets point into. */
    public byte[] data() {
        return data;
    }

    /** The index, {@link #STRIDE} numbers a message. */
    public int[] index() {
        return index;
    }

    /** How many messages there are. */
    public int count() {
        return count;
    }

    /** The native number of the split. */
    public int split() {
        return split;
    }

    /** The sequence number of the first message within its split. */
    public long first() {
        return first;
    }

    public int payloadOffset(int message) {
        return index[message * STRIDE + PAYLOAD];
    }

    public int payloadLength(int message) {
        return index[message * STRIDE + PAYLOAD + 1];
    }

    public int messageIdOffset(int message) {
        return index[message * STRIDE + MESSAGE_ID];
    }

    public int messageIdLength(int message) {
        return index[message * STRIDE + MESSAGE_ID + 1];
    }

    public int orderingKeyOffset(int message) {
        return index[message * STRIDE + ORDERING_KEY];
    }

    public int orderingKeyLength(int message) {
        return index[message * STRIDE + ORDERING_KEY + 1];
    }

    /** Where the encoded {@code PubsubMessage} begins. */
    public int messageOffset(int message) {
        return index[message * STRIDE + MESSAGE];
    }

    /** The length of the encoded {@code PubsubMessage}. */
    public int messageLength(int message) {
        return index[message * STRIDE + MESSAGE + 1];
    }

    public long publishSeconds(int message) {
        int at = message * STRIDE + PUBLISH_SECONDS;
        return ((long) index[at] << 32) | (index[at + 1] & 0xffff_ffffL);
    }

    public int publishNanos(int message) {
        return index[message * STRIDE + PUBLISH_NANOS];
    }

    /** The number of attributes. */
    public int attributeCount(int message) {
        return index[message * STRIDE + FLAGS] & ATTRIBUTES_MASK;
    }

    /** Whether the message is to be counted but not emitted. */
    public boolean skip(int message) {
        return (index[message * STRIDE + FLAGS] & SKIP_BIT) != 0;
    }

    public int deliveryAttempt(int message) {
        return index[message * STRIDE + FLAGS] >>> DELIVERY_ATTEMPT_SHIFT;
    }
}

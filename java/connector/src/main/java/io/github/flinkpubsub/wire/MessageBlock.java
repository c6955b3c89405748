package io.github.flinkpubsub.wire;

import io.github.flinkpubsub.OutgoingMessage;

import org.apache.flink.annotation.Internal;

import java.util.Arrays;

/**
 * Messages in the wire form of a {@code PublishRequest}: each as its field 2, one behind the other,
 * with an index of four numbers a message: end offset, topic number, offset and length of the
 * ordering key. The arrays are used again and again. Not thread-safe.
 */
@Internal
public final class MessageBlock {

    /** Numbers in the index for each message. */
    public static final int STRIDE = 4;

    private static final byte MESSAGE_TAG = 2 << 3 | 2;
    private static final byte DATA_TAG = 1 << 3 | 2;
    private static final byte ATTRIBUTE_TAG = 2 << 3 | 2;
    private static final byte ORDERING_KEY_TAG = 5 << 3 | 2;

    private static final int LARGEST_KEPT_BYTES = 1 << 20;

    private final int capacity;
    private final MessageSizes sizes = new MessageSizes();
    private byte[] data;
    private int[] index = new int[64 * STRIDE];
    private int length;
    private int count;

    /**
     * @param capacity bytes from which on the block is full; a single larger message still fits
     */
    public MessageBlock(int capacity) {
        this.capacity = capacity;
        data = new byte[capacity];
    }

    /**
     * Checks a message against the service's limits and works out its size, for the {@link #add}
     * that follows.
     *
     * @return the bytes that it will take
     * @throws InvalidMessageException naming the field that is not legal
     */
    public int measure(OutgoingMessage message) throws InvalidMessageException {
        int body = sizes.measure(message);
        return 1 + MessageSizes.varint(body) + body;
    }

    /** Whether a message of that size would take the block above its capacity. */
    public boolean isFullFor(int size) {
        return count > 0 && length + size > capacity;
    }

    /** Whether nothing more fits. */
    public boolean isFull() {
        return length >= capacity;
    }

    /** Adds the message that was measured last. */
    public void add(OutgoingMessage message, int topic) {
        int body = sizes.body();
        reserve(1 + MessageSizes.varint(body) + body);
        byte[] target = data;
        int at = length;
        target[at++] = MESSAGE_TAG;
        at = MessageSizes.writeVarint(body, target, at);

        int payload = message.payloadLength();
        if (payload > 0) {
            target[at++] = DATA_TAG;
            at = MessageSizes.writeVarint(payload, target, at);
            System.arraycopy(message.payload(), message.payloadOffset(), target, at, payload);
            at += payload;
        }
        for (int i = 0; i < message.attributeCount(); i++) {
            target[at++] = ATTRIBUTE_TAG;
            at = sizes.entries().write(i, target, at);
        }
        int key = sizes.orderingKey();
        int keyOffset = 0;
        if (key > 0) {
            target[at++] = ORDERING_KEY_TAG;
            at = MessageSizes.writeVarint(key, target, at);
            keyOffset = at;
            at = Utf8.write(message.orderingKey(), key, target, at);
        }
        length = at;
        int entry = count++ * STRIDE;
        index[entry] = at;
        index[entry + 1] = topic;
        index[entry + 2] = keyOffset;
        index[entry + 3] = key;
    }

    /** Empties the block. */
    public void clear() {
        length = 0;
        count = 0;
        if (data.length > LARGEST_KEPT_BYTES) {
            // One large message must not hold its memory for ever.
            data = new byte[capacity];
        }
    }

    public byte[] data() {
        return data;
    }

    public int[] index() {
        return index;
    }

    /** Bytes in use. */
    public int length() {
        return length;
    }

    /** Messages. */
    public int count() {
        return count;
    }

    public boolean isEmpty() {
        return count == 0;
    }

    private void reserve(int size) {
        int needed = length + size;
        if (needed > data.length) {
            data = Arrays.copyOf(data, Math.max(needed, data.length + data.length / 2));
        }
        if ((count + 1) * STRIDE > index.length) {
            index = Arrays.copyOf(index, index.length * 2);
        }
    }
}

package io.github.flinkpubsub.sink.writer;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.pubsub.v1.PublishRequest;
import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.PubSubException.Status;
import io.github.flinkpubsub.nativebridge.Publisher;
import io.github.flinkpubsub.nativebridge.PublisherCounter;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;

/**
 * Keeps what it is given in flight until the test confirms it; or, in automatic mode, confirms all
 * of it when the writer flushes or waits.
 */
final class FakePublisher implements Publisher {

    private final List<String> topics = new ArrayList<>();
    private final List<String> events = new ArrayList<>();
    private final List<PubsubMessage> published = new ArrayList<>();
    private final Deque<byte[]> failures = new ArrayDeque<>();
    private final boolean automatic;
    private long inFlight;
    private long inFlightBytes;
    private long confirmed;
    private long maxInFlight;
    private long maxInFlightBytes;
    private long targetMessages = -1;
    private long targetBytes = -1;
    private long targetUnwritten;
    private long unwritten;
    private boolean closed;

    FakePublisher(boolean automatic) {
        this.automatic = automatic;
    }

    /** Appends, flushes and the close, in order. */
    synchronized List<String> events() {
        return new ArrayList<>(events);
    }

    /** All messages, in the order of appending. */
    synchronized List<PubsubMessage> published() {
        return new ArrayList<>(published);
    }

    synchronized long maxInFlight() {
        return maxInFlight;
    }

    synchronized long maxInFlightBytes() {
        return maxInFlightBytes;
    }

    /** Makes the service confirm all that is in flight. */
    synchronized void confirm() {
        confirmed += inFlight;
        inFlight = 0;
        inFlightBytes = 0;
        unwritten = 0;
        notifyAll();
    }

    /** Makes so many bytes wait for the connection. */
    synchronized void unwritten(long bytes) {
        unwritten = bytes;
        notifyAll();
    }

    /** How many unwritten bytes the writer waits for, or -1. */
    synchronized long targetUnwritten() {
        return targetMessages < 0 ? -1 : targetUnwritten;
    }

    /** Makes the service refuse a message of those in flight. */
    synchronized void refuse(int message, int topic, Status status, String text) {
        byte[] encoded =
                PublishRequest.newBuilder()
                        .addMessages(published.get(message))
                        .build()
                        .toByteArray();
        failures.add(descriptor(status, topic, 1, text, encoded));
        notifyAll();
    }

    /** Makes a topic fail altogether. */
    synchronized void fail(int topic, Status status, String text) {
        failures.add(descriptor(status, topic, 0, text, new byte[0]));
        notifyAll();
    }

    private static byte[] descriptor(
            Status status, int topic, int kind, String text, byte[] message) {
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.allocate(17 + utf8.length + message.length)
                .putInt(status.ordinal())
                .putInt(topic)
                .put((byte) kind)
                .putInt(utf8.length)
                .put(utf8)
                .putInt(message.length)
                .put(message)
                .array();
    }

    @Override
    public synchronized int topic(String topic) {
        if (!topics.contains(topic)) {
            topics.add(topic);
        }
        return topics.indexOf(topic);
    }

    @Override
    public synchronized void append(
            byte[] data, int length, int[] index, int count, long ageNanos, long[] inFlightOut) {
        List<PubsubMessage> messages;
        try {
            messages = PublishRequest.parseFrom(Arrays.copyOf(data, length)).getMessagesList();
        } catch (InvalidProtocolBufferException e) {
            throw new IllegalArgumentException(e);
        }
        StringBuilder event = new StringBuilder("append");
        for (int i = 0; i < count; i++) {
            event.append(' ')
                    .append(messages.get(i).getData().toStringUtf8())
                    .append('@')
                    .append(index[4 * i + 1]);
        }
        events.add(event.toString());
        published.addAll(messages);
        inFlight += count;
        inFlightBytes += length;
        maxInFlight = Math.max(maxInFlight, inFlight);
        maxInFlightBytes = Math.max(maxInFlightBytes, inFlightBytes);
        inFlightOut[0] = inFlight;
        inFlightOut[1] = inFlightBytes;
        inFlightOut[2] = unwritten;
    }

    @Override
    public synchronized void flush() {
        events.add("flush");
        if (automatic) {
            confirm();
        }
    }

    @Override
    public synchronized void target(long messages, long bytes, long unwrittenBytes) {
        targetMessages = messages;
        targetBytes = bytes;
        targetUnwritten = unwrittenBytes;
        if (automatic) {
            confirm();
        }
        notifyAll();
    }

    @Override
    public synchronized int await(long timeoutMillis) {
        long deadline = System.nanoTime() + timeoutMillis * 1_000_000;
        while (true) {
            int bits = closed ? CLOSED : failures.isEmpty() ? 0 : FAILURE;
            if (targetMessages >= 0
                    && inFlight <= targetMessages
                    && inFlightBytes <= targetBytes
                    && unwritten <= targetUnwritten) {
                targetMessages = -1;
                bits |= TARGET_REACHED;
            }
            long left = (deadline - System.nanoTime()) / 1_000_000;
            if (bits != 0 || left <= 0) {
                return bits;
            }
            try {
                wait(left);
            } catch (InterruptedException e) {
                return CLOSED;
            }
        }
    }

    @Override
    public synchronized long[] state() {
        long[] state = new long[PublisherCounter.values().length];
        state[PublisherCounter.IN_FLIGHT_MESSAGES.ordinal()] = inFlight;
        state[PublisherCounter.IN_FLIGHT_BYTES.ordinal()] = inFlightBytes;
        state[PublisherCounter.UNWRITTEN_BYTES.ordinal()] = unwritten;
        state[PublisherCounter.PUBLISHED_MESSAGES.ordinal()] = confirmed;
        state[PublisherCounter.PUBLISH_RETRIES.ordinal()] = 7;
        state[PublisherCounter.ACTIVE_TOPICS.ordinal()] = topics.size();
        return state;
    }

    @Override
    public synchronized byte[] takeFailure() {
        byte[] failure = failures.poll();
        if (failure != null && failure[8] == 1) {
            inFlight--;
        }
        return failure;
    }

    @Override
    public synchronized void close(long timeoutMillis) {
        events.add("close " + timeoutMillis);
        closed = true;
        notifyAll();
    }
}

package io.github.flinkpubsub.nativebridge;

import org.apache.flink.annotation.Internal;

import java.io.IOException;
import java.nio.charset.StandardCharsets;

import javax.annotation.Nullable;

/**
 * The {@link Publisher} in the native library. Use after close throws {@link
 * IllegalStateException}.
 */
@Internal
public final class NativePublisher implements Publisher {

    private final long handle;
    private final OpenClient client;

    private volatile boolean closed;
    private long[] lastState = new long[PublisherCounter.values().length];

    private NativePublisher(OpenClient client) {
        this.client = client;
        handle = client.handle();
    }

    /**
     * Loads the library if need be and makes a publisher.
     *
     * @throws IllegalArgumentException when an option is not understood; names it
     */
    public static NativePublisher open(NativeOptions options) throws IOException {
        return new NativePublisher(OpenClient.open(options, PublisherNatives::open));
    }

    @Override
    public int topic(String topic) throws IOException {
        return PublisherNatives.topic(open(), topic.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public void append(
            byte[] data, int length, int[] index, int count, long ageNanos, long[] inFlight)
            throws IOException {
        PublisherNatives.append(open(), data, length, index, count, ageNanos, inFlight);
    }

    @Override
    public void flush() throws IOException {
        PublisherNatives.flush(open());
    }

    @Override
    public void target(long messages, long bytes, long unwritten) throws IOException {
        PublisherNatives.target(open(), messages, bytes, unwritten);
    }

    @Override
    public int await(long timeoutMillis) throws IOException {
        if (closed) {
            return CLOSED;
        }
        try {
            return PublisherNatives.await(handle, timeoutMillis);
        } catch (IllegalStateException e) {
            if (closed) {
                // The task has closed the publisher just before the call.
                return CLOSED;
            }
            throw e;
        }
    }

    @Override
    public synchronized long[] state() {
        if (!closed) {
            PublisherNatives.state(handle, lastState);
        }
        return lastState.clone();
    }

    @Override
    @Nullable
    public byte[] takeFailure() throws IOException {
        return PublisherNatives.takeFailure(open());
    }

    @Override
    public void close(long timeoutMillis) throws IOException {
        synchronized (this) {
            if (closed) {
                return;
            }
            // Metrics are asked for by other threads, also meanwhile.
            PublisherNatives.state(handle, lastState);
            closed = true;
        }
        long[] state = new long[lastState.length];
        try {
            PublisherNatives.close(handle, timeoutMillis, state);
        } finally {
            client.closed();
        }
        synchronized (this) {
            lastState = state;
        }
    }

    private long open() {
        if (closed) {
            throw new IllegalStateException("the publisher is closed");
        }
        return handle;
    }
}

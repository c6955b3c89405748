package io.github.flinkpubsub.nativebridge;

import org.apache.flink.annotation.Internal;

import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * The {@link Subscriber} in the native library. Use after close throws {@link
 * IllegalStateException}.
 */
@Internal
public final class NativeSubscriber implements Subscriber {

    private static final int NOTHING = -1;
    private static final int TOO_SMALL = -2;

    private final long handle;
    private final OpenClient client;

    /** What {@code poll} answers beside its result; only the fetcher uses it. */
    private final long[] polled = new long[3];

    private volatile boolean closed;
    private long[] lastCounters = new long[SubscriberCounter.values().length];

    private NativeSubscriber(OpenClient client) {
        this.client = client;
        handle = client.handle();
    }

    /**
     * Loads the library if need be and makes a subscriber, which reads nothing yet.
     *
     * @throws IllegalArgumentException when an option is not understood; names it
     */
    public static NativeSubscriber open(NativeOptions options) throws IOException {
        return new NativeSubscriber(OpenClient.open(options, SubscriberNatives::open));
    }

    @Override
    public int addSplit(String subscription) throws IOException {
        return SubscriberNatives.addSplit(open(), subscription.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public void removeSplit(int split) throws IOException {
        SubscriberNatives.removeSplit(open(), split);
    }

    @Override
    public void pause(int split, boolean paused) throws IOException {
        SubscriberNatives.pause(open(), split, paused);
    }

    @Override
    public boolean poll(NativeBatch batch, long timeoutMillis) throws IOException {
        while (true) {
            int count =
                    SubscriberNatives.poll(
                            open(), batch.data(), batch.index(), timeoutMillis, polled);
            if (count > 0) {
                batch.filled(count, (int) polled[0], polled[1]);
                return true;
            }
            if (count == TOO_SMALL) {
                batch.grow(polled[0], polled[1]);
            } else if (count == NOTHING || count == 0) {
                return false;
            } else {
                throw new IllegalStateException("poll answered " + count);
            }
        }
    }

    @Override
    public void wakeUp() {
        SubscriberNatives.wakeUp(open());
    }

    @Override
    public void snapshot(long checkpoint, int[] splits, long[] emitted) throws IOException {
        SubscriberNatives.snapshot(open(), checkpoint, splits, emitted);
    }

    @Override
    public void complete(long checkpoint, boolean confirm) throws IOException {
        SubscriberNatives.complete(open(), checkpoint, confirm);
    }

    @Override
    public boolean confirmed(long timeoutMillis) throws IOException {
        return SubscriberNatives.confirmed(open(), timeoutMillis);
    }

    @Override
    public void nack(int split, long sequence) throws IOException {
        SubscriberNatives.nack(open(), split, sequence);
    }

    @Override
    public void leave(int split, long sequence) throws IOException {
        SubscriberNatives.leave(open(), split, sequence);
    }

    @Override
    public synchronized long[] counters() {
        if (!closed) {
            SubscriberNatives.counters(handle, lastCounters);
        }
        return lastCounters.clone();
    }

    @Override
    public void close(long timeoutMillis) throws IOException {
        synchronized (this) {
            if (closed) {
                return;
            }
            // Metrics are asked for by other threads, also meanwhile.
            SubscriberNatives.counters(handle, lastCounters);
            closed = true;
        }
        long[] counters = new long[SubscriberCounter.values().length];
        try {
            SubscriberNatives.close(handle, timeoutMillis, counters);
        } finally {
            client.closed();
        }
        synchronized (this) {
            lastCounters = counters;
        }
    }

    private long open() {
        if (closed) {
            throw new IllegalStateException("the subscriber is closed");
        }
        return handle;
    }
}

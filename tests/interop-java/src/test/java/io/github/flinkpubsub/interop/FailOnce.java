package io.github.flinkpubsub.interop;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.state.CheckpointListener;

import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Passes events on, and throws once: at the {@code n}th event after the first completed checkpoint.
 */
final class FailOnce implements MapFunction<Event, Event>, CheckpointListener, AutoCloseable {
    private static final long serialVersionUID = 1L;
    private static final Map<UUID, Progress> PROGRESS = new ConcurrentHashMap<>();

    /** Outlives the restart of the task. */
    private static final class Progress {
        final CountDownLatch checkpoint = new CountDownLatch(1);
        final AtomicInteger eventsAfterCheckpoint = new AtomicInteger();
    }

    private final UUID id = UUID.randomUUID();
    private final int n;

    FailOnce(int n) {
        this.n = n;
        PROGRESS.put(id, new Progress());
    }

    @Override
    public Event map(Event event) {
        Progress progress = PROGRESS.get(id);
        if (progress.checkpoint.getCount() == 0
                && progress.eventsAfterCheckpoint.incrementAndGet() == n) {
            throw new IllegalStateException("Failing on purpose between two checkpoints");
        }
        return event;
    }

    @Override
    public void notifyCheckpointComplete(long checkpointId) {
        PROGRESS.get(id).checkpoint.countDown();
    }

    boolean happened() {
        return PROGRESS.get(id).eventsAfterCheckpoint.get() >= n;
    }

    void awaitCheckpoint() throws InterruptedException {
        assertTrue(
                PROGRESS.get(id).checkpoint.await(1, TimeUnit.MINUTES), "a checkpoint completed");
    }

    @Override
    public void close() {
        PROGRESS.remove(id);
    }
}

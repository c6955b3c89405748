package io.github.flinkpubsub.source.reader;

import io.github.flinkpubsub.nativebridge.NativeBatch;

import java.util.concurrent.ArrayBlockingQueue;

/**
 * Batches to be used again. The fetcher takes them, the task's thread puts them back. There are
 * never more than Flink's element queue holds and one at each end of it.
 */
final class BatchPool {

    /** What a batch starts with; it grows to what the largest message needs. */
    private static final int INITIAL_BYTES = 1 << 20;

    /** A batch that has grown above this is left to the collector instead of being kept. */
    private static final int LARGEST_KEPT_BYTES = 4 << 20;

    private static final int KEPT = 8;

    private final ArrayBlockingQueue<MessageBatch> free = new ArrayBlockingQueue<>(KEPT);
    private final int messages;
    private final EmissionProgress progress;

    /**
     * @param messages the most messages of one fetch
     */
    BatchPool(int messages, EmissionProgress progress) {
        this.messages = messages;
        this.progress = progress;
    }

    MessageBatch take() {
        MessageBatch batch = free.poll();
        return batch != null
                ? batch
                : new MessageBatch(new NativeBatch(INITIAL_BYTES, messages), this, progress);
    }

    void put(MessageBatch batch) {
        if (batch.messages().data().length <= LARGEST_KEPT_BYTES) {
            free.offer(batch);
        }
    }
}

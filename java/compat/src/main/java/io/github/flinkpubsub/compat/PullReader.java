package io.github.flinkpubsub.compat;

import com.google.protobuf.Timestamp;
import com.google.pubsub.v1.ReceivedMessage;

import io.github.flinkpubsub.source.reader.MessageRateLimiter;
import io.github.flinkpubsub.source.split.PubSubSplit;

import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.SourceOutput;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.connector.base.source.reader.RecordEmitter;
import org.apache.flink.connector.base.source.reader.SingleThreadMultiplexSourceReaderBase;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.util.Collector;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Reads with a subscriber of the user's: pulls on the fetcher's thread, emits on the task's, and
 * acknowledges what a completed checkpoint holds.
 */
final class PullReader<T>
        extends SingleThreadMultiplexSourceReaderBase<
                ReceivedMessage, T, PubSubSplit, PubSubSplit> {

    private final PubSubSubscriber subscriber;
    private final MessageRateLimiter rateLimiter;
    private final AckIds ackIds;

    private PullReader(
            PubSubSubscriber subscriber,
            RecordEmitter<ReceivedMessage, T, PubSubSplit> emitter,
            MessageRateLimiter rateLimiter,
            AckIds ackIds,
            SourceReaderContext context) {
        super(() -> new PullSplitReader(subscriber), emitter, context.getConfiguration(), context);
        this.subscriber = subscriber;
        this.rateLimiter = rateLimiter;
        this.ackIds = ackIds;
        context.metricGroup().gauge("PubSubMessagesProcessedNotAcked", ackIds::size);
    }

    static <T> PullReader<T> create(
            PubSubSubscriber subscriber,
            EndAwareSchema<T> schema,
            int messagesPerSecond,
            SourceReaderContext context) {
        MessageRateLimiter rateLimiter = MessageRateLimiter.perSecond(messagesPerSecond);
        AckIds ackIds = new AckIds();
        return new PullReader<>(
                subscriber,
                rateLimiter.counting(new Emitter<>(schema, ackIds)),
                rateLimiter,
                ackIds,
                context);
    }

    @Override
    public InputStatus pollNext(ReaderOutput<T> output) throws Exception {
        return rateLimiter.mayEmit() ? super.pollNext(output) : InputStatus.NOTHING_AVAILABLE;
    }

    @Override
    public CompletableFuture<Void> isAvailable() {
        return rateLimiter.isWaiting() ? rateLimiter.available() : super.isAvailable();
    }

    /** The split is not stored: it holds no position, and the enumerator gives it out anew. */
    @Override
    public List<PubSubSplit> snapshotState(long checkpointId) {
        ackIds.seal(checkpointId);
        return Collections.emptyList();
    }

    @Override
    public void notifyCheckpointComplete(long checkpointId) {
        List<String> ids = ackIds.take(checkpointId);
        if (!ids.isEmpty()) {
            subscriber.acknowledge(ids);
        }
    }

    /** Closes the subscriber first, which ends a pull that is running. */
    @Override
    public void close() throws Exception {
        try {
            subscriber.close();
        } finally {
            super.close();
        }
    }

    @Override
    protected void onSplitFinished(Map<String, PubSubSplit> finished) {}

    @Override
    protected PubSubSplit initializedState(PubSubSplit split) {
        return split;
    }

    @Override
    protected PubSubSplit toSplitType(String splitId, PubSubSplit split) {
        return split;
    }

    private static final class Emitter<T>
            implements RecordEmitter<ReceivedMessage, T, PubSubSplit> {

        private final EndAwareSchema<T> schema;
        private final AckIds ackIds;

        Emitter(EndAwareSchema<T> schema, AckIds ackIds) {
            this.schema = schema;
            this.ackIds = ackIds;
        }

        @Override
        public void emitRecord(ReceivedMessage received, SourceOutput<T> output, PubSubSplit split)
                throws Exception {
            Timestamp published = received.getMessage().getPublishTime();
            long timestamp = published.getSeconds() * 1_000 + published.getNanos() / 1_000_000;
            schema.deserialize(
                    received.getMessage(),
                    new Collector<>() {
                        @Override
                        public void collect(T record) {
                            output.collect(record, timestamp);
                        }

                        @Override
                        public void close() {}
                    });
            ackIds.add(received.getAckId());
        }
    }
}

package io.github.flinkpubsub.source.reader;

import io.github.flinkpubsub.PubSubDeserializationSchema;
import io.github.flinkpubsub.nativebridge.NativeLibrary;
import io.github.flinkpubsub.nativebridge.NativeOptions;
import io.github.flinkpubsub.nativebridge.NativeSubscriber;
import io.github.flinkpubsub.nativebridge.Subscriber;
import io.github.flinkpubsub.source.OrderingMode;
import io.github.flinkpubsub.source.PubSubSubscriberOptions;
import io.github.flinkpubsub.source.SourceConfig;
import io.github.flinkpubsub.source.StopCondition;
import io.github.flinkpubsub.source.split.PubSubSplit;

import org.apache.flink.annotation.Internal;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.connector.base.source.reader.SingleThreadMultiplexSourceReaderBase;
import org.apache.flink.connector.base.source.reader.splitreader.SplitReader;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.util.UserCodeClassLoader;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import javax.annotation.Nullable;

/**
 * Emits messages and acknowledges them with checkpoints. Owns the native subscriber: one for all
 * splits, from start to close. All methods run on the task's thread; the fetcher has {@link
 * PubSubSplitReader}.
 *
 * @param <T> the records' type
 */
@Internal
public final class PubSubSourceReader<T>
        extends SingleThreadMultiplexSourceReaderBase<MessageView, T, PubSubSplit, PubSubSplit> {

    private final Subscriber subscriber;
    private final PubSubSubscriberOptions options;
    private final EmissionProgress progress;
    private final FirstCheckpointWatch checkpointWatch;
    @Nullable private final MessageRateLimiter rateLimiter;

    /** Whether there are no checkpoints and what was emitted is acknowledged in the end. */
    private final boolean acksAtEnd;

    private boolean ended;

    private PubSubSourceReader(
            Subscriber subscriber,
            PubSubSubscriberOptions options,
            EmissionProgress progress,
            FirstCheckpointWatch checkpointWatch,
            SourceMetrics metrics,
            MessageEmitter<T> emitter,
            SourceReaderContext context,
            @Nullable StopCondition stopCondition,
            @Nullable MessageRateLimiter rateLimiter,
            boolean acksAtEnd) {
        super(
                splitReaders(
                        subscriber, options, progress, checkpointWatch, metrics, stopCondition),
                rateLimiter == null ? emitter : rateLimiter.counting(emitter),
                context.getConfiguration(),
                context);
        this.subscriber = subscriber;
        this.options = options;
        this.progress = progress;
        this.checkpointWatch = checkpointWatch;
        this.acksAtEnd = acksAtEnd;
        this.rateLimiter = rateLimiter;
    }

    /** Opens the schema and the native subscriber; reading begins with the first split. */
    public static <T> PubSubSourceReader<T> create(
            SourceConfig config, PubSubDeserializationSchema<T> schema, SourceReaderContext context)
            throws Exception {
        boolean acksAtEnd =
                config.stopCondition() != null
                        && (config.batchExecution() || CheckpointingProbe.isBatch(context));
        if (!acksAtEnd && !config.subscriberOptions().firstCheckpointTimeout().isZero()) {
            CheckpointingProbe.check(context, config.subscriberOptions().maxAckExtensionPeriod());
        }
        schema.open(new SchemaContext(context));
        NativeLibrary.load(context.getUserCodeClassLoader(), context.getConfiguration());
        Subscriber subscriber = NativeSubscriber.open(nativeOptions(config));
        try {
            return create(config, schema, context, subscriber, acksAtEnd);
        } catch (Throwable t) {
            subscriber.close(0);
            throw t;
        }
    }

    static <T> PubSubSourceReader<T> create(
            SourceConfig config,
            PubSubDeserializationSchema<T> schema,
            SourceReaderContext context,
            Subscriber subscriber,
            boolean acksAtEnd) {
        PubSubSubscriberOptions options = config.subscriberOptions();
        EmissionProgress progress = new EmissionProgress();
        SourceMetrics metrics = new SourceMetrics(context.metricGroup(), subscriber);
        MessageEmitter<T> emitter =
                new MessageEmitter<>(
                        schema,
                        new EventTime(config.timestampAttribute()),
                        config.failurePolicy(),
                        config.stopCondition(),
                        subscriber,
                        progress,
                        metrics);
        return new PubSubSourceReader<>(
                subscriber,
                options,
                progress,
                new FirstCheckpointWatch(
                        acksAtEnd ? Duration.ZERO : options.firstCheckpointTimeout()),
                metrics,
                emitter,
                context,
                config.stopCondition(),
                config.messageRateLimit() == 0
                        ? null
                        : MessageRateLimiter.perSecond(config.messageRateLimit()),
                acksAtEnd);
    }

    /**
     * Seals what has been emitted. The splits themselves are not stored: they hold no position, and
     * the enumerator gives them out anew.
     */
    @Override
    public List<PubSubSplit> snapshotState(long checkpointId) {
        EmissionProgress.Changes changes = progress.takeChanges();
        try {
            subscriber.snapshot(checkpointId, changes.splits, changes.done);
        } catch (IOException e) {
            throw new UncheckedIOException(e.getMessage(), e);
        }
        return Collections.emptyList();
    }

    /**
     * Acknowledges what was sealed, also under checkpoints that were aborted or whose news was
     * lost.
     */
    @Override
    public void notifyCheckpointComplete(long checkpointId) throws Exception {
        checkpointWatch.checkpointCompleted();
        subscriber.complete(checkpointId, options.awaitAckConfirmation());
        if (options.awaitAckConfirmation()) {
            new AckConfirmation(subscriber, System::nanoTime).await(checkpointId);
        }
    }

    /**
     * Stops the fetcher, then gives back what is not acknowledged, all within the shutdown timeout.
     */
    @Override
    public void close() throws Exception {
        long deadline = System.nanoTime() + options.shutdownTimeout().toNanos();
        try {
            super.close();
            if (acksAtEnd && ended) {
                snapshotState(Long.MAX_VALUE);
                subscriber.complete(Long.MAX_VALUE, false);
            }
        } finally {
            long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
            subscriber.close(Math.max(0, left));
        }
    }

    @Override
    public InputStatus pollNext(ReaderOutput<T> output) throws Exception {
        if (rateLimiter != null && !rateLimiter.mayEmit()) {
            return InputStatus.NOTHING_AVAILABLE;
        }
        InputStatus status = super.pollNext(output);
        ended |= status == InputStatus.END_OF_INPUT;
        return status;
    }

    @Override
    public CompletableFuture<Void> isAvailable() {
        return rateLimiter != null && rateLimiter.isWaiting()
                ? rateLimiter.available()
                : super.isAvailable();
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

    private static Supplier<SplitReader<MessageView, PubSubSplit>> splitReaders(
            Subscriber subscriber,
            PubSubSubscriberOptions options,
            EmissionProgress progress,
            FirstCheckpointWatch checkpointWatch,
            SourceMetrics metrics,
            @Nullable StopCondition stopCondition) {
        BatchPool pool = new BatchPool(options.maxRecordsPerFetch(), progress);
        return () ->
                new PubSubSplitReader(subscriber, pool, checkpointWatch, metrics, stopCondition);
    }

    static NativeOptions nativeOptions(SourceConfig config) {
        NativeOptions options = new NativeOptions();
        config.connection().addTo(options);
        config.subscriberOptions().addTo(options);
        options.putIfSet("request-timeout-ms", config.requestTimeout())
                .putIfSet("connect-limit-ms", config.connectLimit());
        return options.put(
                        "ordering",
                        config.orderingMode() == OrderingMode.PER_KEY ? "per-key" : "none")
                .put("client-id-prefix", "flink-" + UUID.randomUUID());
    }

    private static final class SchemaContext
            implements DeserializationSchema.InitializationContext {

        private final SourceReaderContext context;

        SchemaContext(SourceReaderContext context) {
            this.context = context;
        }

        @Override
        public MetricGroup getMetricGroup() {
            return context.metricGroup().addGroup("deserializer");
        }

        @Override
        public UserCodeClassLoader getUserCodeClassLoader() {
            return context.getUserCodeClassLoader();
        }
    }
}

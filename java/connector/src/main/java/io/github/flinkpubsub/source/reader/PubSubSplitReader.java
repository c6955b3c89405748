package io.github.flinkpubsub.source.reader;

import io.github.flinkpubsub.nativebridge.NativeBatch;
import io.github.flinkpubsub.nativebridge.Subscriber;
import io.github.flinkpubsub.source.split.PubSubSplit;

import org.apache.flink.connector.base.source.reader.RecordsBySplits;
import org.apache.flink.connector.base.source.reader.RecordsWithSplitIds;
import org.apache.flink.connector.base.source.reader.splitreader.SplitReader;
import org.apache.flink.connector.base.source.reader.splitreader.SplitsAddition;
import org.apache.flink.connector.base.source.reader.splitreader.SplitsChange;
import org.apache.flink.connector.base.source.reader.splitreader.SplitsRemoval;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;

/**
 * Fetches batches from the native subscriber. Runs on the fetcher's thread, {@link #wakeUp()}
 * apart. The subscriber is not this class's: Flink closes an idle fetcher while what it fetched is
 * still to be acknowledged.
 */
final class PubSubSplitReader implements SplitReader<MessageView, PubSubSplit> {

    /** How often a fetch without messages looks up from its wait. */
    private static final long POLL_MILLIS = 500;

    private static final RecordsWithSplitIds<MessageView> NOTHING =
            new RecordsBySplits<>(Collections.emptyMap(), Collections.emptySet());

    private final Subscriber subscriber;
    private final BatchPool pool;
    private final FirstCheckpointWatch checkpointWatch;
    private final SourceMetrics metrics;
    private final Map<String, Integer> numberById = new HashMap<>();
    private final Map<Integer, PubSubSplit> splitByNumber = new HashMap<>();
    private volatile boolean wokenUp;

    PubSubSplitReader(
            Subscriber subscriber,
            BatchPool pool,
            FirstCheckpointWatch checkpointWatch,
            SourceMetrics metrics) {
        this.subscriber = subscriber;
        this.pool = pool;
        this.checkpointWatch = checkpointWatch;
        this.metrics = metrics;
    }

    /** Waits for messages until there are some or {@link #wakeUp()} is called. */
    @Override
    public RecordsWithSplitIds<MessageView> fetch() throws IOException {
        MessageBatch batch = pool.take();
        NativeBatch messages = batch.messages();
        while (!subscriber.poll(messages, POLL_MILLIS)) {
            checkpointWatch.check(System.nanoTime());
            if (wokenUp) {
                wokenUp = false;
                pool.put(batch);
                return NOTHING;
            }
        }
        long now = System.nanoTime();
        checkpointWatch.messagesFetched(now);
        checkpointWatch.check(now);
        long published = messages.publishSeconds(messages.count() - 1) * 1_000;
        metrics.fetched(System.currentTimeMillis() - published);
        batch.start(splitByNumber.get(messages.split()));
        return batch;
    }

    @Override
    public void wakeUp() {
        wokenUp = true;
        subscriber.wakeUp();
    }

    @Override
    public void handleSplitsChanges(SplitsChange<PubSubSplit> change) {
        try {
            if (change instanceof SplitsAddition) {
                for (PubSubSplit split : change.splits()) {
                    int number = subscriber.addSplit(split.subscription().path());
                    numberById.put(split.splitId(), number);
                    splitByNumber.put(number, split);
                }
            } else if (change instanceof SplitsRemoval) {
                for (PubSubSplit split : change.splits()) {
                    int number = numberById.remove(split.splitId());
                    splitByNumber.remove(number);
                    subscriber.removeSplit(number);
                }
            } else {
                throw new UnsupportedOperationException("splits change " + change);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e.getMessage(), e);
        }
    }

    @Override
    public void pauseOrResumeSplits(
            Collection<PubSubSplit> toPause, Collection<PubSubSplit> toResume) {
        try {
            for (PubSubSplit split : toPause) {
                subscriber.pause(numberById.get(split.splitId()), true);
            }
            for (PubSubSplit split : toResume) {
                subscriber.pause(numberById.get(split.splitId()), false);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e.getMessage(), e);
        }
    }

    /** Leaves the subscriber open, which its owner closes. */
    @Override
    public void close() {}
}

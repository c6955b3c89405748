package io.github.flinkpubsub.source.reader;

import io.github.flinkpubsub.nativebridge.NativeBatch;
import io.github.flinkpubsub.nativebridge.Subscriber;
import io.github.flinkpubsub.source.StopCondition;
import io.github.flinkpubsub.source.split.PubSubSplit;

import org.apache.flink.connector.base.source.reader.RecordsBySplits;
import org.apache.flink.connector.base.source.reader.RecordsWithSplitIds;
import org.apache.flink.connector.base.source.reader.splitreader.SplitReader;
import org.apache.flink.connector.base.source.reader.splitreader.SplitsAddition;
import org.apache.flink.connector.base.source.reader.splitreader.SplitsChange;
import org.apache.flink.connector.base.source.reader.splitreader.SplitsRemoval;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;

import javax.annotation.Nullable;

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
    @Nullable private final StopWatch stopWatch;
    private final Map<String, Integer> numberById = new HashMap<>();
    private final Map<Integer, PubSubSplit> splitByNumber = new HashMap<>();
    private volatile boolean wokenUp;

    PubSubSplitReader(
            Subscriber subscriber,
            BatchPool pool,
            FirstCheckpointWatch checkpointWatch,
            SourceMetrics metrics,
            @Nullable StopCondition stopCondition) {
        this.subscriber = subscriber;
        this.pool = pool;
        this.checkpointWatch = checkpointWatch;
        this.metrics = metrics;
        stopWatch = stopCondition == null ? null : new StopWatch(stopCondition);
    }

    /** Waits for messages until there are some or {@link #wakeUp()} is called. */
    @Override
    public RecordsWithSplitIds<MessageView> fetch() throws IOException {
        if (stopWatch != null && stopWatch.silent(Instant.now())) {
            return finishAll();
        }
        MessageBatch batch = pool.take();
        NativeBatch messages = batch.messages();
        long start = System.nanoTime();
        while (!subscriber.poll(messages, POLL_MILLIS)) {
            long end = System.nanoTime();
            checkpointWatch.check(end);
            boolean finished = false;
            if (stopWatch != null) {
                stopWatch.waited(end - start);
                finished = stopWatch.silent(Instant.now());
            }
            if (finished || wokenUp) {
                wokenUp = false;
                pool.put(batch);
                return finished ? finishAll() : NOTHING;
            }
            start = end;
        }
        long now = System.nanoTime();
        checkpointWatch.messagesFetched(now);
        checkpointWatch.check(now);
        if (stopWatch != null) {
            stopWatch.fetched(messages, now - start);
        }
        long published = messages.publishSeconds(messages.count() - 1) * 1_000;
        metrics.fetched(System.currentTimeMillis() - published);
        batch.start(splitByNumber.get(messages.split()));
        return batch;
    }

    private RecordsWithSplitIds<MessageView> finishAll() throws IOException {
        RecordsBySplits.Builder<MessageView> finished = new RecordsBySplits.Builder<>();
        for (Map.Entry<String, Integer> split : numberById.entrySet()) {
            subscriber.removeSplit(split.getValue());
            finished.addFinishedSplit(split.getKey());
        }
        numberById.clear();
        return finished.build();
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
                    if (stopWatch != null) {
                        stopWatch.restart();
                    }
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
            if (stopWatch != null) {
                toPause.forEach(split -> stopWatch.paused(split.splitId()));
                toResume.forEach(split -> stopWatch.resumed(split.splitId()));
            }
            pause(toPause, true);
            pause(toResume, false);
        } catch (IOException e) {
            throw new UncheckedIOException(e.getMessage(), e);
        }
    }

    /** Flink may ask it of splits that have ended here, until it has taken notice of their end. */
    private void pause(Collection<PubSubSplit> splits, boolean paused) throws IOException {
        for (PubSubSplit split : splits) {
            Integer number = numberById.get(split.splitId());
            if (number != null) {
                subscriber.pause(number, paused);
            }
        }
    }

    /** Leaves the subscriber open, which its owner closes. */
    @Override
    public void close() {}
}

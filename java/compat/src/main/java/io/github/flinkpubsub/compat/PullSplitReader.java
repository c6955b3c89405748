package io.github.flinkpubsub.compat;

import com.google.pubsub.v1.ReceivedMessage;

import io.github.flinkpubsub.source.split.PubSubSplit;

import org.apache.flink.connector.base.source.reader.RecordsBySplits;
import org.apache.flink.connector.base.source.reader.RecordsWithSplitIds;
import org.apache.flink.connector.base.source.reader.splitreader.SplitReader;
import org.apache.flink.connector.base.source.reader.splitreader.SplitsChange;

import java.util.Collection;

/** Pulls with a subscriber of the user's. Runs on the fetcher's thread, {@link #wakeUp()} apart. */
final class PullSplitReader implements SplitReader<ReceivedMessage, PubSubSplit> {

    private final PubSubSubscriber subscriber;
    private final Object lock = new Object();
    private String splitId;
    private boolean paused;
    private boolean wokenUp;

    PullSplitReader(PubSubSubscriber subscriber) {
        this.subscriber = subscriber;
    }

    @Override
    public RecordsWithSplitIds<ReceivedMessage> fetch() {
        RecordsBySplits.Builder<ReceivedMessage> records = new RecordsBySplits.Builder<>();
        if (mayPull()) {
            records.addAll(splitId, subscriber.pull());
        }
        return records.build();
    }

    /** Waits while the split is paused; false when it was woken up from that. */
    private boolean mayPull() {
        synchronized (lock) {
            while (paused && !wokenUp) {
                try {
                    lock.wait();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    return false;
                }
            }
            wokenUp = false;
            return !paused;
        }
    }

    @Override
    public void handleSplitsChanges(SplitsChange<PubSubSplit> change) {
        // There is one split, and it stays.
        splitId = change.splits().get(0).splitId();
    }

    @Override
    public void pauseOrResumeSplits(
            Collection<PubSubSplit> toPause, Collection<PubSubSplit> toResume) {
        synchronized (lock) {
            paused = !toPause.isEmpty() || (paused && toResume.isEmpty());
            lock.notifyAll();
        }
    }

    @Override
    public void wakeUp() {
        synchronized (lock) {
            wokenUp = true;
            lock.notifyAll();
        }
    }

    /** Leaves the subscriber open, which the reader closes: there is still to be acknowledged. */
    @Override
    public void close() {}
}

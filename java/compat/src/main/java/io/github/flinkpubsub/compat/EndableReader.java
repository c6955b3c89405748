package io.github.flinkpubsub.compat;

import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.source.split.PubSubSplit;

import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.SourceEvent;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.core.io.InputStatus;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import javax.annotation.Nullable;

/**
 * A reader that ends with the record that ends the stream, its own or another subtask's. The
 * message of that record is acknowledged with the next checkpoint; so that a job restored from
 * there ends as well, the checkpoint holds a split that says so. All methods run on the task's
 * thread.
 */
final class EndableReader<T> implements SourceReader<T, PubSubSplit> {

    /** The index of the split that says that the stream has ended. */
    private static final int END = -1;

    private final SourceReader<T, PubSubSplit> reader;
    private final EndAwareSchema<T> schema;
    private final SubscriptionDestination subscription;
    private final SourceReaderContext context;
    private boolean ended;
    @Nullable private CompletableFuture<Void> available;

    EndableReader(
            SourceReader<T, PubSubSplit> reader,
            EndAwareSchema<T> schema,
            SubscriptionDestination subscription,
            SourceReaderContext context) {
        this.reader = reader;
        this.schema = schema;
        this.subscription = subscription;
        this.context = context;
    }

    @Override
    public void start() {
        reader.start();
    }

    @Override
    public InputStatus pollNext(ReaderOutput<T> output) throws Exception {
        if (ended) {
            return InputStatus.END_OF_INPUT;
        }
        InputStatus status = reader.pollNext(output);
        if (schema.ended()) {
            end();
            context.sendSourceEventToCoordinator(new EndOfStreamEvent());
            return InputStatus.END_OF_INPUT;
        }
        return status;
    }

    private void end() {
        ended = true;
        if (available != null) {
            available.complete(null);
        }
    }

    @Override
    public CompletableFuture<Void> isAvailable() {
        if (available != null && !available.isDone()) {
            // Flink may still wait for this one.
            return available;
        }
        CompletableFuture<Void> next = reader.isAvailable();
        if (ended || next.isDone()) {
            return ended ? CompletableFuture.completedFuture(null) : next;
        }
        CompletableFuture<Void> either = new CompletableFuture<>();
        next.whenComplete(
                (nothing, failure) -> {
                    if (failure == null) {
                        either.complete(null);
                    } else {
                        either.completeExceptionally(failure);
                    }
                });
        available = either;
        return either;
    }

    @Override
    public void handleSourceEvents(SourceEvent event) {
        if (event instanceof EndOfStreamEvent) {
            end();
        } else {
            reader.handleSourceEvents(event);
        }
    }

    @Override
    public List<PubSubSplit> snapshotState(long checkpointId) {
        List<PubSubSplit> splits = reader.snapshotState(checkpointId);
        return ended ? Collections.singletonList(new PubSubSplit(subscription, END)) : splits;
    }

    @Override
    public void addSplits(List<PubSubSplit> splits) {
        List<PubSubSplit> toRead = new ArrayList<>(splits);
        if (toRead.removeIf(split -> split.index() == END)) {
            end();
            context.sendSourceEventToCoordinator(new EndOfStreamEvent());
        }
        if (!toRead.isEmpty() && !ended) {
            reader.addSplits(toRead);
        }
    }

    @Override
    public void notifyNoMoreSplits() {
        reader.notifyNoMoreSplits();
    }

    @Override
    public void pauseOrResumeSplits(Collection<String> toPause, Collection<String> toResume) {
        reader.pauseOrResumeSplits(toPause, toResume);
    }

    @Override
    public void notifyCheckpointComplete(long checkpointId) throws Exception {
        reader.notifyCheckpointComplete(checkpointId);
    }

    @Override
    public void notifyCheckpointAborted(long checkpointId) throws Exception {
        reader.notifyCheckpointAborted(checkpointId);
    }

    @Override
    public void close() throws Exception {
        reader.close();
    }
}

package io.github.flinkpubsub.compat;

import io.github.flinkpubsub.source.enumerator.PubSubEnumeratorState;
import io.github.flinkpubsub.source.split.PubSubSplit;

import org.apache.flink.api.connector.source.SourceEvent;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;

import java.io.IOException;
import java.util.List;

import javax.annotation.Nullable;

/** An enumerator that tells all readers when one has read the record that ends the stream. */
final class EndableEnumerator implements SplitEnumerator<PubSubSplit, PubSubEnumeratorState> {

    private final SplitEnumerator<PubSubSplit, PubSubEnumeratorState> enumerator;
    private final SplitEnumeratorContext<PubSubSplit> context;
    private boolean ended;

    EndableEnumerator(
            SplitEnumerator<PubSubSplit, PubSubEnumeratorState> enumerator,
            SplitEnumeratorContext<PubSubSplit> context) {
        this.enumerator = enumerator;
        this.context = context;
    }

    @Override
    public void start() {
        enumerator.start();
    }

    @Override
    public void handleSourceEvent(int subtask, SourceEvent event) {
        if (event instanceof EndOfStreamEvent) {
            if (!ended) {
                ended = true;
                context.registeredReaders().keySet().stream()
                        .filter(reader -> reader != subtask)
                        .forEach(this::end);
            }
        } else {
            enumerator.handleSourceEvent(subtask, event);
        }
    }

    private void end(int subtask) {
        context.sendEventToSourceReader(subtask, new EndOfStreamEvent());
    }

    @Override
    public void addReader(int subtask) {
        enumerator.addReader(subtask);
        if (ended) {
            end(subtask);
        }
    }

    @Override
    public void handleSplitRequest(int subtask, @Nullable String hostname) {
        enumerator.handleSplitRequest(subtask, hostname);
    }

    @Override
    public void addSplitsBack(List<PubSubSplit> splits, int subtask) {
        enumerator.addSplitsBack(splits, subtask);
    }

    @Override
    public PubSubEnumeratorState snapshotState(long checkpointId) throws Exception {
        return enumerator.snapshotState(checkpointId);
    }

    @Override
    public void notifyCheckpointComplete(long checkpointId) throws Exception {
        enumerator.notifyCheckpointComplete(checkpointId);
    }

    @Override
    public void notifyCheckpointAborted(long checkpointId) throws Exception {
        enumerator.notifyCheckpointAborted(checkpointId);
    }

    @Override
    public void close() throws IOException {
        enumerator.close();
    }
}

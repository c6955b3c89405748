package io.github.flinkpubsub.compat;

import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.source.enumerator.PubSubEnumeratorState;
import io.github.flinkpubsub.source.split.PubSubSplit;

import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.connector.source.SplitsAssignment;

import java.util.Collections;
import java.util.List;

import javax.annotation.Nullable;

/** Gives every reader one split. What the subscriber of one's own reads is not looked at. */
final class PullEnumerator implements SplitEnumerator<PubSubSplit, PubSubEnumeratorState> {

    private final SplitEnumeratorContext<PubSubSplit> context;
    private final SubscriptionDestination subscription;

    PullEnumerator(
            SplitEnumeratorContext<PubSubSplit> context, SubscriptionDestination subscription) {
        this.context = context;
        this.subscription = subscription;
    }

    @Override
    public void start() {}

    @Override
    public void addReader(int subtask) {
        context.assignSplits(
                new SplitsAssignment<>(
                        Collections.singletonMap(
                                subtask,
                                Collections.singletonList(
                                        new PubSubSplit(subscription, subtask)))));
    }

    /** Nothing to do: the reader has its split from the start. */
    @Override
    public void handleSplitRequest(int subtask, @Nullable String hostname) {}

    /** The reader will register again and is then given its split again. */
    @Override
    public void addSplitsBack(List<PubSubSplit> splits, int subtask) {}

    @Override
    public PubSubEnumeratorState snapshotState(long checkpointId) {
        return new PubSubEnumeratorState(Collections.emptySet());
    }

    @Override
    public void close() {}
}

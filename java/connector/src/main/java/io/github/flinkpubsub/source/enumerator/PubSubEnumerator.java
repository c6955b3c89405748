package io.github.flinkpubsub.source.enumerator;

import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.source.SourceConfig;
import io.github.flinkpubsub.source.split.PubSubSplit;

import org.apache.flink.annotation.Internal;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.connector.source.SplitsAssignment;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import javax.annotation.Nullable;

/**
 * Gives each reader its splits when it registers, as {@link SplitPlan} says. A reader that has
 * failed registers again and is given the same ones. All calls come from the coordinator's thread.
 */
@Internal
public final class PubSubEnumerator implements SplitEnumerator<PubSubSplit, PubSubEnumeratorState> {

    private static final Logger LOG = LoggerFactory.getLogger(PubSubEnumerator.class);

    private final SplitEnumeratorContext<PubSubSplit> context;
    private final SourceConfig config;

    /** How many splits each registered reader has; the metrics' threads read the sums. */
    private final Map<Integer, Integer> splitsOfReader = new HashMap<>();

    private volatile int assignedSplits;
    private volatile int unassignedReaders;
    @Nullable private SplitPlan plan;

    /**
     * @param restored the state to go on from; null at the first start
     */
    public PubSubEnumerator(
            SplitEnumeratorContext<PubSubSplit> context,
            SourceConfig config,
            @Nullable PubSubEnumeratorState restored) {
        this.context = context;
        this.config = config;
        if (restored != null) {
            logChanges(restored.subscriptions());
        }
    }

    @Override
    public void start() {
        plan =
                SplitPlan.of(
                        config.subscriptions(),
                        context.currentParallelism(),
                        config.orderingMode());
        context.metricGroup().gauge("assignedSplits", () -> assignedSplits);
        context.metricGroup().gauge("unassignedReaders", () -> unassignedReaders);
    }

    @Override
    public void addReader(int subtask) {
        List<PubSubSplit> splits = plan.of(subtask);
        if (splits.isEmpty()) {
            // Ends the reader, so that it does not hold back watermarks.
            context.signalNoMoreSplits(subtask);
        } else {
            context.assignSplits(
                    new SplitsAssignment<>(
                            Collections.singletonMap(subtask, new ArrayList<>(splits))));
        }
        splitsOfReader.put(subtask, splits.size());
        count();
    }

    /** Nothing to do: the reader has its splits from the start. */
    @Override
    public void handleSplitRequest(int subtask, @Nullable String hostname) {}

    /** The reader will register again and is then given its splits again. */
    @Override
    public void addSplitsBack(List<PubSubSplit> splits, int subtask) {
        splitsOfReader.remove(subtask);
        count();
    }

    @Override
    public PubSubEnumeratorState snapshotState(long checkpointId) {
        return new PubSubEnumeratorState(new LinkedHashSet<>(config.subscriptions()));
    }

    @Override
    public void close() {}

    private void count() {
        assignedSplits = splitsOfReader.values().stream().mapToInt(Integer::intValue).sum();
        unassignedReaders =
                (int) splitsOfReader.values().stream().filter(splits -> splits == 0).count();
    }

    private void logChanges(Set<SubscriptionDestination> before) {
        Set<SubscriptionDestination> added = new LinkedHashSet<>(config.subscriptions());
        added.removeAll(before);
        Set<SubscriptionDestination> removed = new LinkedHashSet<>(before);
        removed.removeAll(config.subscriptions());
        if (!added.isEmpty() || !removed.isEmpty()) {
            LOG.info(
                    "Subscriptions since the restored state: added {}, removed {}", added, removed);
        }
    }
}

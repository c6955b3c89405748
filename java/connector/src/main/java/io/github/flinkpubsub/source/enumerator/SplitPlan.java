package io.github.flinkpubsub.source.enumerator;

import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.source.OrderingMode;
import io.github.flinkpubsub.source.split.PubSubSplit;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Which subtask reads which splits: a pure function of the subscriptions, the parallelism and the
 * ordering mode. As splits hold no position, it is worked out afresh at every start, and a changed
 * parallelism needs no special care.
 */
final class SplitPlan {

    private final List<List<PubSubSplit>> bySubtask;

    private SplitPlan(List<List<PubSubSplit>> bySubtask) {
        this.bySubtask = bySubtask;
    }

    static SplitPlan of(
            List<SubscriptionDestination> subscriptions, int parallelism, OrderingMode mode) {
        List<List<PubSubSplit>> bySubtask = new ArrayList<>();
        for (int subtask = 0; subtask < parallelism; subtask++) {
            bySubtask.add(new ArrayList<>());
        }
        int splits =
                mode == OrderingMode.PER_KEY
                        ? subscriptions.size()
                        : Math.max(subscriptions.size(), parallelism);
        for (int i = 0; i < splits; i++) {
            SubscriptionDestination subscription = subscriptions.get(i % subscriptions.size());
            bySubtask
                    .get(i % parallelism)
                    .add(new PubSubSplit(subscription, i / subscriptions.size()));
        }
        return new SplitPlan(bySubtask);
    }

    /** The splits of a subtask; empty for one that is not needed. */
    List<PubSubSplit> of(int subtask) {
        return Collections.unmodifiableList(bySubtask.get(subtask));
    }
}

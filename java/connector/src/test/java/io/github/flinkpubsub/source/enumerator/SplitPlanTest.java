package io.github.flinkpubsub.source.enumerator;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.source.OrderingMode;
import io.github.flinkpubsub.source.split.PubSubSplit;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

class SplitPlanTest {

    private static List<SubscriptionDestination> subscriptions(String... ids) {
        List<SubscriptionDestination> subscriptions = new ArrayList<>();
        for (String id : ids) {
            subscriptions.add(SubscriptionDestination.of("p", "sub-" + id));
        }
        return subscriptions;
    }

    /** Such as {@code a0 b0 | a1} for two subtasks. */
    private static String shown(int parallelism, OrderingMode mode, String... ids) {
        SplitPlan plan = SplitPlan.of(subscriptions(ids), parallelism, mode);
        String[] subtasks = new String[parallelism];
        for (int subtask = 0; subtask < parallelism; subtask++) {
            List<String> splits = new ArrayList<>();
            for (PubSubSplit split : plan.of(subtask)) {
                splits.add(split.subscription().subscription().substring(4) + split.index());
            }
            subtasks[subtask] = String.join(" ", splits);
        }
        return String.join("|", Arrays.asList(subtasks));
    }

    @Test
    void withoutOrderEverySubtaskIsBusy() {
        assertThat(shown(1, OrderingMode.NONE, "a")).isEqualTo("a0");
        assertThat(shown(3, OrderingMode.NONE, "a")).isEqualTo("a0|a1|a2");
        assertThat(shown(5, OrderingMode.NONE, "a", "b")).isEqualTo("a0|b0|a1|b1|a2");
        assertThat(shown(2, OrderingMode.NONE, "a", "b", "c")).isEqualTo("a0 c0|b0");
    }

    @Test
    void perKeyASubscriptionHasOneConsumer() {
        assertThat(shown(1, OrderingMode.PER_KEY, "a", "b")).isEqualTo("a0 b0");
        assertThat(shown(4, OrderingMode.PER_KEY, "a", "b")).isEqualTo("a0|b0||");
        assertThat(shown(2, OrderingMode.PER_KEY, "a", "b", "c")).isEqualTo("a0 c0|b0");
    }
}

package io.github.flinkpubsub.source.enumerator;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.flinkpubsub.ConnectionOptions;
import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.source.DeserializationFailurePolicy;
import io.github.flinkpubsub.source.OrderingMode;
import io.github.flinkpubsub.source.PubSubSubscriberOptions;
import io.github.flinkpubsub.source.SourceConfig;
import io.github.flinkpubsub.source.split.PubSubSplit;

import org.apache.flink.connector.testutils.source.reader.TestingSplitEnumeratorContext;
import org.apache.flink.connector.testutils.source.reader.TestingSplitEnumeratorContext.SplitAssignmentState;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

class PubSubEnumeratorTest {

    private static final SubscriptionDestination A = SubscriptionDestination.of("p", "a");
    private static final SubscriptionDestination B = SubscriptionDestination.of("p", "b");

    private static SourceConfig config(OrderingMode mode) {
        return new SourceConfig(
                List.of(A, B),
                ConnectionOptions.builder().build(),
                PubSubSubscriberOptions.defaults(),
                mode,
                DeserializationFailurePolicy.FAIL,
                null);
    }

    private static String assigned(
            TestingSplitEnumeratorContext<PubSubSplit> context, int subtask) {
        SplitAssignmentState<PubSubSplit> state = context.getSplitAssignments().get(subtask);
        if (state == null) {
            return "nothing";
        }
        String splits =
                state.getAssignedSplits().stream()
                        .map(split -> split.subscription().subscription() + split.index())
                        .collect(Collectors.joining(" "));
        return state.hasReceivedNoMoreSplitsSignal() ? splits + "end" : splits;
    }

    private static TestingSplitEnumeratorContext<PubSubSplit> context(int parallelism) {
        return new TestingSplitEnumeratorContext<>(parallelism);
    }

    private static void register(
            PubSubEnumerator enumerator,
            TestingSplitEnumeratorContext<PubSubSplit> context,
            int subtask) {
        context.registerReader(subtask, "host");
        enumerator.addReader(subtask);
    }

    @Test
    void eachReaderIsGivenItsSplitsWhenItRegisters() {
        TestingSplitEnumeratorContext<PubSubSplit> context = context(3);
        PubSubEnumerator enumerator =
                new PubSubEnumerator(context, config(OrderingMode.NONE), null);
        enumerator.start();
        assertThat(context.getSplitAssignments()).isEmpty();
        register(enumerator, context, 2);
        assertThat(assigned(context, 2)).isEqualTo("a1");
        assertThat(assigned(context, 0)).isEqualTo("nothing");
        register(enumerator, context, 0);
        register(enumerator, context, 1);
        assertThat(assigned(context, 0)).isEqualTo("a0");
        assertThat(assigned(context, 1)).isEqualTo("b0");
    }

    @Test
    void surplusReadersAreToldThatThereIsNoMore() {
        TestingSplitEnumeratorContext<PubSubSplit> context = context(3);
        PubSubEnumerator enumerator =
                new PubSubEnumerator(context, config(OrderingMode.PER_KEY), null);
        enumerator.start();
        for (int subtask = 0; subtask < 3; subtask++) {
            register(enumerator, context, subtask);
        }
        assertThat(assigned(context, 0)).isEqualTo("a0");
        assertThat(assigned(context, 1)).isEqualTo("b0");
        assertThat(assigned(context, 2)).isEqualTo("end");
    }

    @Test
    void aReaderThatFailedIsGivenTheSameSplitsAgain() {
        TestingSplitEnumeratorContext<PubSubSplit> context = context(2);
        PubSubEnumerator enumerator =
                new PubSubEnumerator(context, config(OrderingMode.NONE), null);
        enumerator.start();
        register(enumerator, context, 0);
        register(enumerator, context, 1);
        enumerator.addSplitsBack(List.of(new PubSubSplit(B, 0)), 1);
        assertThat(assigned(context, 0)).isEqualTo("a0");
        enumerator.addReader(1);
        assertThat(assigned(context, 1)).isEqualTo("b0 b0");
    }

    @Test
    void aChangedParallelismIsPlannedAfresh() throws Exception {
        PubSubEnumerator before = new PubSubEnumerator(context(1), config(OrderingMode.NONE), null);
        before.start();
        PubSubEnumeratorState state = before.snapshotState(1);
        assertThat(state.subscriptions()).containsExactly(A, B);

        TestingSplitEnumeratorContext<PubSubSplit> context = context(4);
        PubSubEnumerator after = new PubSubEnumerator(context, config(OrderingMode.NONE), state);
        after.start();
        for (int subtask = 0; subtask < 4; subtask++) {
            register(after, context, subtask);
        }
        assertThat(
                        List.of(
                                assigned(context, 0),
                                assigned(context, 1),
                                assigned(context, 2),
                                assigned(context, 3)))
                .containsExactly("a0", "b0", "a1", "b1");
    }

    @Test
    void aChangedSetOfSubscriptionsIsTheNewState() throws Exception {
        PubSubEnumeratorState state =
                new PubSubEnumeratorState(Set.of(SubscriptionDestination.of("p", "old")));
        PubSubEnumerator enumerator =
                new PubSubEnumerator(context(1), config(OrderingMode.NONE), state);
        enumerator.start();
        assertThat(enumerator.snapshotState(2).subscriptions()).containsExactly(A, B);
    }
}

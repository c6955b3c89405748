package io.github.flinkpubsub.source.enumerator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.flinkpubsub.ConnectionOptions;
import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.source.DeserializationFailurePolicy;
import io.github.flinkpubsub.source.OrderingMode;
import io.github.flinkpubsub.source.PubSubSubscriberOptions;
import io.github.flinkpubsub.source.SourceConfig;
import io.github.flinkpubsub.source.StartPosition;
import io.github.flinkpubsub.source.StopCondition;
import io.github.flinkpubsub.source.SubscriptionCreateOptions;
import io.github.flinkpubsub.source.split.PubSubSplit;

import org.apache.flink.connector.testutils.source.reader.TestingSplitEnumeratorContext;
import org.apache.flink.connector.testutils.source.reader.TestingSplitEnumeratorContext.SplitAssignmentState;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

import javax.annotation.Nullable;

class PubSubEnumeratorTest {

    private static final SubscriptionDestination A = SubscriptionDestination.of("p", "sub-a");
    private static final SubscriptionDestination B = SubscriptionDestination.of("p", "sub-b");

    @Nullable private StopCondition stopCondition;

    private SourceConfig config(OrderingMode mode) {
        return new SourceConfig(
                List.of(A, B),
                Map.of(),
                StartPosition.latest(),
                ConnectionOptions.builder().build(),
                PubSubSubscriberOptions.defaults(),
                mode,
                DeserializationFailurePolicy.FAIL,
                null,
                stopCondition);
    }

    private static String assigned(
            TestingSplitEnumeratorContext<PubSubSplit> context, int subtask) {
        SplitAssignmentState<PubSubSplit> state = context.getSplitAssignments().get(subtask);
        if (state == null) {
            return "nothing";
        }
        String splits =
                state.getAssignedSplits().stream()
                        .map(PubSubEnumeratorTest::shown)
                        .collect(Collectors.joining(" "));
        return state.hasReceivedNoMoreSplitsSignal() ? splits + "end" : splits;
    }

    private static String shown(PubSubSplit split) {
        String id = split.subscription().subscription().replaceFirst("^sub-", "");
        return id + split.index();
    }

    private static TestingSplitEnumeratorContext<PubSubSplit> context(int parallelism) {
        return new TestingSplitEnumeratorContext<>(parallelism);
    }

    private final FakeAdmin admin = new FakeAdmin().with(A.path()).with(B.path());

    private PubSubEnumerator enumerator(
            TestingSplitEnumeratorContext<PubSubSplit> context,
            OrderingMode mode,
            PubSubEnumeratorState restored) {
        if (mode == OrderingMode.PER_KEY) {
            admin.with(A.path(), "ordering", "true").with(B.path(), "ordering", "true");
        }
        return new PubSubEnumerator(context, config(mode), restored, config -> admin);
    }

    /** Starts and waits for the subscriptions to be ready. */
    private static void start(
            PubSubEnumerator enumerator, TestingSplitEnumeratorContext<PubSubSplit> context) {
        enumerator.start();
        context.triggerAllActions();
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
        PubSubEnumerator enumerator = enumerator(context, OrderingMode.NONE, null);
        start(enumerator, context);
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
        PubSubEnumerator enumerator = enumerator(context, OrderingMode.PER_KEY, null);
        start(enumerator, context);
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
        PubSubEnumerator enumerator = enumerator(context, OrderingMode.NONE, null);
        start(enumerator, context);
        register(enumerator, context, 0);
        register(enumerator, context, 1);
        enumerator.addSplitsBack(List.of(new PubSubSplit(B, 0)), 1);
        assertThat(assigned(context, 0)).isEqualTo("a0");
        enumerator.addReader(1);
        assertThat(assigned(context, 1)).isEqualTo("b0 b0");
    }

    @Test
    void aChangedParallelismIsPlannedAfresh() throws Exception {
        TestingSplitEnumeratorContext<PubSubSplit> small = context(1);
        PubSubEnumerator before = enumerator(small, OrderingMode.NONE, null);
        start(before, small);
        PubSubEnumeratorState state = before.snapshotState(1);
        assertThat(state.subscriptions()).containsExactly(A, B);

        TestingSplitEnumeratorContext<PubSubSplit> context = context(4);
        PubSubEnumerator after = enumerator(context, OrderingMode.NONE, state);
        start(after, context);
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
        TestingSplitEnumeratorContext<PubSubSplit> context = context(1);
        PubSubEnumerator enumerator = enumerator(context, OrderingMode.NONE, state);
        start(enumerator, context);
        assertThat(enumerator.snapshotState(2).subscriptions()).containsExactly(A, B);
    }

    @Test
    void noReaderIsAttachedBeforeTheSubscriptionsAreReady() throws Exception {
        TestingSplitEnumeratorContext<PubSubSplit> context = context(2);
        PubSubEnumerator enumerator = enumerator(context, OrderingMode.NONE, null);
        enumerator.start();
        register(enumerator, context, 0);
        assertThat(assigned(context, 0)).isEqualTo("nothing");
        // A checkpoint now does not say that they were moved.
        assertThat(enumerator.snapshotState(1).subscriptions()).isEmpty();
        context.triggerAllActions();
        assertThat(admin.calls).hasSize(4).last().asString().startsWith("seek b");
        assertThat(admin.closed).isTrue();
        assertThat(assigned(context, 0)).isEqualTo("a0");
        register(enumerator, context, 1);
        assertThat(assigned(context, 1)).isEqualTo("b0");
    }

    @Test
    void aRestoredJobMovesNothing() throws Exception {
        TestingSplitEnumeratorContext<PubSubSplit> context = context(1);
        PubSubEnumeratorState state = new PubSubEnumeratorState(Set.of(A, B));
        PubSubEnumerator enumerator = enumerator(context, OrderingMode.NONE, state);
        start(enumerator, context);
        assertThat(admin.calls).containsExactly("describe a", "describe b");
    }

    @Test
    void aProblemFailsTheJob() {
        TestingSplitEnumeratorContext<PubSubSplit> context = context(1);
        admin.subscriptions.remove(B.path());
        PubSubEnumerator enumerator = enumerator(context, OrderingMode.NONE, null);
        enumerator.start();
        register(enumerator, context, 0);
        assertThatThrownBy(context::triggerAllActions)
                .hasStackTraceContaining(B + " does not exist");
        assertThat(assigned(context, 0)).isEqualTo("nothing");
    }

    @Test
    void aRestoredJobReadsItsOwnSubscriptionAgain() throws Exception {
        TopicDestination topic = TopicDestination.of("p", "top");
        SourceConfig planned =
                new SourceConfig(
                                List.of(A, B),
                                Map.of(B, SubscriptionCreateOptions.builder().topic(topic).build()),
                                StartPosition.latest(),
                                ConnectionOptions.builder().build(),
                                PubSubSubscriberOptions.defaults(),
                                OrderingMode.NONE,
                                DeserializationFailurePolicy.FAIL,
                                null,
                                null)
                        .withOwnSubscriptions(Map.of(topic, B));
        SubscriptionDestination before = SubscriptionDestination.of("p", "before");
        TestingSplitEnumeratorContext<PubSubSplit> context = context(2);
        PubSubEnumerator enumerator =
                new PubSubEnumerator(
                        context,
                        planned,
                        new PubSubEnumeratorState(Set.of(A, before), Map.of(topic, before)),
                        config -> admin);
        start(enumerator, context);
        // It is gone: it is created again under its name, and not moved.
        assertThat(admin.calls)
                .containsExactly(
                        "describe a",
                        "describe before",
                        "create before {topic=projects/p/topics/top}");
        register(enumerator, context, 1);
        assertThat(assigned(context, 1)).isEqualTo("before0");
        PubSubEnumeratorState state = enumerator.snapshotState(1);
        assertThat(state.ownSubscriptions()).isEqualTo(Map.of(topic, before));
        assertThat(state.subscriptions()).containsExactlyInAnyOrder(A, before);
        // Nothing tells here that the job is over.
        enumerator.close();
        assertThat(admin.calls).doesNotContain("delete before");
    }
}

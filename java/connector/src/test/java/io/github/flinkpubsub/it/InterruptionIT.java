package io.github.flinkpubsub.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.Subscription;

import io.github.flinkpubsub.LogCapture;
import io.github.flinkpubsub.source.OrderingMode;
import io.github.flinkpubsub.source.PubSubSource;
import io.github.flinkpubsub.source.PubSubSubscriberOptions;
import io.github.flinkpubsub.testing.Fault;
import io.github.flinkpubsub.testing.FaultAction;
import io.github.flinkpubsub.testing.SubscriptionState;
import io.grpc.Status.Code;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

/** Jobs whose streams end, whose tasks fail, and whose consumer blocks. */
@Tag("integration")
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class InterruptionIT extends JobTest {

    private static final String TOPIC = "projects/p/topics/input";
    private static final String SUB = "projects/p/subscriptions/input-sub";

    @BeforeEach
    void createTopic() {
        server.createTopic(TOPIC);
        control.record(true);
    }

    private void read(StreamExecutionEnvironment env, PubSubSource<String> source)
            throws Exception {
        env.fromSource(source, WatermarkStrategy.noWatermarks(), "in").sinkTo(new CollectingSink());
        job = env.executeAsync();
    }

    private void delivers(String text) throws Exception {
        int before = records().size();
        publish(TOPIC, List.of(text));
        CollectingSink.await(before + 1, TIMEOUT_MILLIS);
        assertThat(records()).last().isEqualTo(text);
    }

    private void strike(FaultAction action) {
        await("a stream", () -> control.closeStreams(SUB, action) == 1);
    }

    @Test
    void streamsEndAndNobodyNotices() throws Exception {
        server.createSubscription(SUB, TOPIC);
        try (LogCapture errors = LogCapture.errors()) {
            read(environment(1), texts(SUB).build());
            control.freezeAcks(SUB);
            publish(TOPIC, numbered(0, 50));
            CollectingSink.await(50, TIMEOUT_MILLIS);
            await("acks", () -> !control.requests("Acknowledge").isEmpty());
            // The acks are on their way when the stream breaks.
            strike(FaultAction.status(Code.UNAVAILABLE, "on purpose"));
            control.releaseAcks();
            awaitUnacked(SUB, 0);
            control.addFault(
                    Fault.on("Acknowledge", FaultAction.goAway(Duration.ofMillis(100))).times(1));
            publish(TOPIC, numbered(50, 100));
            CollectingSink.await(100, TIMEOUT_MILLIS);
            awaitUnacked(SUB, 0);
            assertThat(control.subscription(SUB).acked()).isEqualTo(100);
            strike(FaultAction.status(Code.OK, ""));
            delivers("after a clean end");
            strike(FaultAction.rstStream(0));
            delivers("after a reset");
            awaitUnacked(SUB, 0);
            stop();
            // Nothing came twice, so no task was started anew; with one it would have failed.
            assertThat(records()).hasSize(102).doesNotHaveDuplicates();
            assertThat(errors.lines()).isEmpty();
        }
    }

    @Test
    void whatATaskHeldWhenItFailedComesAgainAtOnce() throws Exception {
        server.createSubscription(
                Subscription.newBuilder()
                        .setName(SUB)
                        .setTopic(TOPIC)
                        .setAckDeadlineSeconds(600)
                        .build());
        FailOnce.failed.set(false);
        StreamExecutionEnvironment env = environment(1, restarts(1));
        // A checkpoint would acknowledge what was read before it.
        env.fromSequence(1, 1).map(new NeverReady()).sinkTo(new DiscardingSink<>());
        env.fromSource(
                        texts(SUB)
                                .subscriberOptions(
                                        PubSubSubscriberOptions.builder()
                                                .minDurationPerAckExtension(Duration.ofMinutes(10))
                                                .build())
                                .build(),
                        WatermarkStrategy.noWatermarks(),
                        "in")
                .map(new FailOnce("m9"))
                .sinkTo(new CollectingSink());
        publish(TOPIC, numbered(0, 10));
        job = env.executeAsync();
        await("the failure", FailOnce.failed::get);
        // Long before the leases end.
        CollectingSink.await(9 + 10, TIMEOUT_MILLIS);
        List<String> expected = new ArrayList<>(numbered(0, 9));
        expected.addAll(numbered(0, 10));
        assertThat(sorted(records())).isEqualTo(sorted(expected));
        assertThat(control.subscription(SUB).nacked()).isEqualTo(10);
        assertThat(control.subscription(SUB).expired()).isZero();
    }

    @Test
    void afterAFailureKeysGoOnInTheirOrder() throws Exception {
        server.createOrderedSubscription(SUB, TOPIC);
        FailOnce.failed.set(false);
        StreamExecutionEnvironment env = environment(2, restarts(1));
        env.fromSource(
                        texts(SUB).orderingMode(OrderingMode.PER_KEY).build(),
                        WatermarkStrategy.noWatermarks(),
                        "in")
                .map(new FailOnce("m700"))
                .sinkTo(new CollectingSink());
        server.publish(
                TOPIC,
                numbered(0, 1_000).stream()
                        .map(
                                text ->
                                        PubsubMessage.newBuilder()
                                                .setData(ByteString.copyFromUtf8(text))
                                                .setOrderingKey("k")
                                                .build())
                        .collect(Collectors.toList()));
        job = env.executeAsync();
        awaitUnacked(SUB, 0);
        assertThat(FailOnce.failed).isTrue();
        // From one record to the next the key goes on by one, or back; it leaves nothing out.
        int next = 0;
        for (String record : records()) {
            int number = Integer.parseInt(record.substring(1));
            assertThat(number).isLessThanOrEqualTo(next);
            next = number + 1;
        }
        assertThat(next).isEqualTo(1_000);
    }

    @Test
    void whatAnAbortedCheckpointHeldIsAcknowledgedWithTheNext() throws Exception {
        server.createSubscription(SUB, TOPIC);
        Aborts.count.set(0);
        Gate.open = new CountDownLatch(1);
        StreamExecutionEnvironment env = environment(1);
        env.getCheckpointConfig().setCheckpointTimeout(100);
        env.getCheckpointConfig().setTolerableCheckpointFailureNumber(Integer.MAX_VALUE);
        env.fromSource(texts(SUB).build(), WatermarkStrategy.noWatermarks(), "in")
                .map(new Aborts())
                .rebalance()
                .map(new Gate())
                .sinkTo(new CollectingSink());
        job = env.executeAsync();
        publish(TOPIC, numbered(0, 100));
        // The source's part of these checkpoints was done.
        int before = Aborts.count.get();
        await("aborted checkpoints", () -> Aborts.count.get() >= before + 3);
        assertThat(unacked(SUB)).isEqualTo(100);
        Gate.open.countDown();
        awaitUnacked(SUB, 0);
        assertThat(records()).hasSize(100).doesNotHaveDuplicates();
    }

    @Test
    @Tag("flink2")
    void aJobThatIsHeldUpKeepsItsLeasesAndItsMemory() throws Exception {
        server.createSubscription(SUB, TOPIC);
        Gate.open = new CountDownLatch(1);
        StreamExecutionEnvironment env = environment(1);
        env.getCheckpointConfig().setTolerableCheckpointFailureNumber(Integer.MAX_VALUE);
        Duration lease = Duration.ofSeconds(10);
        env.fromSource(
                        texts(SUB)
                                .subscriberOptions(
                                        PubSubSubscriberOptions.builder()
                                                .minDurationPerAckExtension(lease)
                                                .maxDurationPerAckExtension(lease)
                                                .maxBufferedBytes(1 << 20)
                                                .build())
                                .build(),
                        WatermarkStrategy.noWatermarks(),
                        "in")
                .rebalance()
                .map(new Gate())
                .sinkTo(new CollectingSink());
        job = env.executeAsync();
        publish(TOPIC, List.of("m0"));
        // What the network between the tasks takes, and ten times as much.
        String filling = "x".repeat(100_000);
        for (int i = 0; i < 60; i++) {
            publish(TOPIC, Collections.nCopies(10, filling));
        }
        // The first message is extended twice, so it is held for longer than its first lease.
        String first = control.messages(SUB).get(0).ackId().orElseThrow();
        await(
                "two extensions",
                () ->
                        control.requests("ModifyAckDeadline").stream()
                                        .filter(r -> r.ackDeadlineSeconds().orElse(0) > 0)
                                        .filter(r -> r.ackIds().contains(first))
                                        .count()
                                >= 2);
        SubscriptionState state = control.subscription(SUB);
        assertThat(state.expired()).isZero();
        // 60 MB were sent; a few are held.
        assertThat(state.outstanding()).isLessThan(200);
        Gate.open.countDown();
        CollectingSink.await(601, TIMEOUT_MILLIS);
        awaitUnacked(SUB, 0);
        assertThat(records()).hasSize(601);
        assertThat(control.subscription(SUB).expired()).isZero();
    }

    /** Counts aborted checkpoints, in the source's task. */
    private static final class Aborts implements MapFunction<String, String>, CheckpointListener {

        static final AtomicInteger count = new AtomicInteger();

        private static final long serialVersionUID = 1L;

        @Override
        public String map(String text) {
            return text;
        }

        @Override
        public void notifyCheckpointComplete(long checkpoint) {}

        @Override
        public void notifyCheckpointAborted(long checkpoint) {
            count.incrementAndGet();
        }
    }

    /** Lets no record pass until it is opened, and so no checkpoint with a record in it. */
    private static final class Gate implements MapFunction<String, String> {

        static volatile CountDownLatch open;

        private static final long serialVersionUID = 1L;

        @Override
        public String map(String text) throws Exception {
            open.await();
            return text;
        }
    }
}

package io.github.flinkpubsub.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.google.protobuf.Duration;
import com.google.pubsub.v1.CreateSnapshotRequest;
import com.google.pubsub.v1.GetSubscriptionRequest;
import com.google.pubsub.v1.Subscription;

import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.source.DeserializationFailurePolicy;
import io.github.flinkpubsub.source.OrderingMode;
import io.github.flinkpubsub.source.PubSubSource;
import io.github.flinkpubsub.source.PubSubSourceBuilder;
import io.github.flinkpubsub.source.StartPosition;
import io.github.flinkpubsub.source.SubscriptionCreateOptions;
import io.github.flinkpubsub.testing.Fault;
import io.github.flinkpubsub.testing.FaultAction;
import io.github.flinkpubsub.testing.PubSubEmulator;
import io.grpc.Status;

import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.ExecutionOptions;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.ExceptionUtils;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** How a job starts to read subscriptions, and how it ends. */
@Tag("integration")
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class SourceIT {

    private static final String TOPIC = "projects/p/topics/input";
    private static final String SUB = "projects/p/subscriptions/input-sub";
    private static final long TIMEOUT_MILLIS = 60_000;

    private PubSubEmulator server;

    @BeforeEach
    void startServer() throws Exception {
        server = PubSubEmulator.start();
        server.createTopic(TOPIC);
        CollectingSink.records.clear();
    }

    @AfterEach
    void stopServer() {
        server.close();
    }

    private static StreamExecutionEnvironment environment(
            int parallelism, RuntimeExecutionMode mode) {
        Configuration configuration = new Configuration();
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "none");
        configuration.set(ExecutionOptions.RUNTIME_MODE, mode);
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.createLocalEnvironment(parallelism, configuration);
        if (mode == RuntimeExecutionMode.STREAMING) {
            env.enableCheckpointing(200);
        }
        return env;
    }

    private PubSubSourceBuilder<String> builder() {
        return PubSubSource.<String>builder()
                .deserializer(new SimpleStringSchema())
                .emulatorEndpoint(server.endpoint());
    }

    private static SubscriptionDestination sub(String path) {
        return SubscriptionDestination.parse(path);
    }

    private static JobClient read(StreamExecutionEnvironment env, PubSubSource<String> source)
            throws Exception {
        DataStream<String> texts =
                env.fromSource(source, WatermarkStrategy.noWatermarks(), "pubsub");
        texts.sinkTo(new CollectingSink());
        return env.executeAsync();
    }

    private static List<String> records() {
        synchronized (CollectingSink.records) {
            return CollectingSink.records.stream().sorted().collect(Collectors.toList());
        }
    }

    private static String[] numbered(int from, int to) {
        return IntStream.range(from, to).mapToObj(i -> "m" + i).toArray(String[]::new);
    }

    private static List<String> sorted(String[] texts) {
        List<String> sorted = new ArrayList<>(List.of(texts));
        sorted.sort(null);
        return sorted;
    }

    private String failure(PubSubSource<String> source) throws Exception {
        JobClient job = read(environment(2, RuntimeExecutionMode.STREAMING), source);
        Throwable failure =
                catchThrowable(
                        () ->
                                job.getJobExecutionResult()
                                        .get(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS));
        return ExceptionUtils.stringifyException(failure);
    }

    private long unacked(String subscription) {
        return server.control().subscription(subscription).backlog()
                + server.control().subscription(subscription).outstanding();
    }

    private void awaitUnacked(String subscription, long expected) {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(TIMEOUT_MILLIS);
        while (unacked(subscription) != expected) {
            assertThat(System.nanoTime()).as("unacked messages").isLessThan(deadline);
            Thread.onSpinWait();
        }
    }

    @Test
    void aMissingSubscriptionIsCreatedOnceAtAnyParallelism() throws Exception {
        server.control().record(true);
        SubscriptionCreateOptions options =
                SubscriptionCreateOptions.builder()
                        .topic(TopicDestination.parse(TOPIC))
                        .ackDeadline(java.time.Duration.ofSeconds(60))
                        .enableMessageOrdering(true)
                        .retainAckedMessages(true)
                        .messageRetention(java.time.Duration.ofHours(1))
                        .expirationTtl(java.time.Duration.ofDays(2))
                        .filter("attributes:kind OR NOT attributes:kind")
                        .label("team", "data")
                        .build();
        JobClient job =
                read(
                        environment(8, RuntimeExecutionMode.STREAMING),
                        builder().subscription(sub(SUB), options).build());
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(TIMEOUT_MILLIS);
        while (server.control().requests("StreamingPull").size() < 8) {
            assertThat(System.nanoTime()).as("eight readers").isLessThan(deadline);
            Thread.onSpinWait();
        }
        assertThat(server.control().requests("CreateSubscription")).hasSize(1);
        server.publish(TOPIC, numbered(0, 100));
        CollectingSink.await(100, TIMEOUT_MILLIS);
        assertThat(records()).isEqualTo(sorted(numbered(0, 100)));
        awaitUnacked(SUB, 0);
        job.cancel().get();
        Subscription created =
                server.subscriber()
                        .getSubscription(
                                GetSubscriptionRequest.newBuilder().setSubscription(SUB).build());
        assertThat(created.getTopic()).isEqualTo(TOPIC);
        assertThat(created.getAckDeadlineSeconds()).isEqualTo(60);
        assertThat(created.getEnableMessageOrdering()).isTrue();
        assertThat(created.getRetainAckedMessages()).isTrue();
        assertThat(created.getMessageRetentionDuration())
                .isEqualTo(Duration.newBuilder().setSeconds(3_600).build());
        assertThat(created.getExpirationPolicy().getTtl().getSeconds()).isEqualTo(172_800);
        assertThat(created.getFilter()).isEqualTo("attributes:kind OR NOT attributes:kind");
        assertThat(created.getLabelsMap()).containsEntry("team", "data");
    }

    @Test
    void everySubscriptionThatCannotBeReadIsNamedAndNothingIsDone() throws Exception {
        server.createSubscription(SUB, TOPIC);
        String missing = "projects/p/subscriptions/missing-sub";
        String toCreate = "projects/p/subscriptions/wanted-sub";
        server.control().record(true);
        String failure =
                failure(
                        builder()
                                .subscription(sub(SUB))
                                .subscription(sub(missing))
                                .subscription(
                                        sub(toCreate),
                                        SubscriptionCreateOptions.builder()
                                                .topic(TopicDestination.parse(TOPIC))
                                                .enableMessageOrdering(true)
                                                .build())
                                .orderingMode(OrderingMode.PER_KEY)
                                .startPosition(StartPosition.latest())
                                .build());
        assertThat(failure)
                .contains("2 problems")
                .contains(SUB + " has message ordering off")
                .contains(missing + " does not exist");
        assertThat(server.control().requests("CreateSubscription")).isEmpty();
        assertThat(server.control().requests("Seek")).isEmpty();
        assertThat(server.control().requests("StreamingPull")).isEmpty();
    }

    @Test
    void givingBackWithoutADeadLetterPolicyIsRefused() throws Exception {
        server.createSubscription(SUB, TOPIC);
        assertThat(
                        failure(
                                builder()
                                        .subscription(sub(SUB))
                                        .deserializationFailurePolicy(
                                                DeserializationFailurePolicy.NACK)
                                        .build()))
                .contains(SUB + " has no dead-letter policy");
    }

    @Test
    void anIdentityThatMayOnlyPullCanRead() throws Exception {
        server.createSubscription(SUB, TOPIC);
        server.control()
                .addFault(
                        Fault.on(
                                "GetSubscription",
                                FaultAction.status(Status.Code.PERMISSION_DENIED, "no")));
        server.publish(TOPIC, numbered(0, 10));
        JobClient job =
                read(
                        environment(1, RuntimeExecutionMode.STREAMING),
                        builder().subscription(sub(SUB)).build());
        CollectingSink.await(10, TIMEOUT_MILLIS);
        awaitUnacked(SUB, 0);
        job.cancel().get();
    }

    @Test
    void everyStartPositionStartsWhereItSays() throws Exception {
        server.createSubscription(
                Subscription.newBuilder()
                        .setName(SUB)
                        .setTopic(TOPIC)
                        .setRetainAckedMessages(true)
                        .build());
        server.publish(TOPIC, "acked");
        String ackId =
                server.subscriber()
                        .pull(
                                com.google.pubsub.v1.PullRequest.newBuilder()
                                        .setSubscription(SUB)
                                        .setMaxMessages(1)
                                        .build())
                        .getReceivedMessages(0)
                        .getAckId();
        server.subscriber()
                .acknowledge(
                        com.google.pubsub.v1.AcknowledgeRequest.newBuilder()
                                .setSubscription(SUB)
                                .addAckIds(ackId)
                                .build());
        String snapshot = "projects/p/snapshots/before-backlog";
        server.subscriber()
                .createSnapshot(
                        CreateSnapshotRequest.newBuilder()
                                .setName(snapshot)
                                .setSubscription(SUB)
                                .build());
        Instant between = server.control().advance(java.time.Duration.ofSeconds(5));
        server.publish(TOPIC, "backlog");
        server.control().advance(java.time.Duration.ofSeconds(5));

        assertThat(readAll(StartPosition.earliestRetained())).containsExactly("acked", "backlog");
        assertThat(readAll(StartPosition.continueFromSubscription())).isEmpty();
        assertThat(readAll(StartPosition.fromTimestamp(between))).containsExactly("backlog");
        assertThat(readAll(StartPosition.fromSnapshot("before-backlog")))
                .containsExactly("backlog");
        server.publish(TOPIC, "skipped");
        assertThat(unacked(SUB)).isEqualTo(1);
        // The server's clock is ahead of this machine's by what it was advanced.
        assertThat(readAll(StartPosition.fromTimestamp(server.control().now()))).isEmpty();
        assertThat(unacked(SUB)).isEqualTo(0);
    }

    /** What a bounded job reads from a start position. */
    private List<String> readAll(StartPosition position) throws Exception {
        CollectingSink.records.clear();
        read(
                        environment(1, RuntimeExecutionMode.STREAMING),
                        builder()
                                .subscription(sub(SUB))
                                .startPosition(position)
                                .stopWhenIdle(java.time.Duration.ofSeconds(1))
                                .build())
                .getJobExecutionResult()
                .get(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS);
        return records();
    }

    @Test
    void aBoundedJobEndsAndHasAcknowledgedAll() throws Exception {
        // Flink 1 does not tell a source that it runs in batch execution: nothing is acknowledged.
        boolean tells = !EnvironmentInformation.getVersion().startsWith("1.");
        List<RuntimeExecutionMode> modes =
                tells
                        ? List.of(RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH)
                        : List.of(RuntimeExecutionMode.STREAMING);
        for (RuntimeExecutionMode mode : modes) {
            String sub = SUB + "-" + mode.name().toLowerCase(java.util.Locale.ROOT);
            server.createSubscription(sub, TOPIC);
            for (int i = 0; i < 5_000; i += 1_000) {
                server.publish(TOPIC, numbered(i, i + 1_000));
            }
            CollectingSink.records.clear();
            read(
                            environment(2, mode),
                            builder()
                                    .subscription(sub(sub))
                                    .stopWhenIdle(java.time.Duration.ofSeconds(1))
                                    .build())
                    .getJobExecutionResult()
                    .get(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS);
            assertThat(records()).as(mode.name()).isEqualTo(sorted(numbered(0, 5_000)));
            assertThat(unacked(sub)).as(mode.name()).isEqualTo(0);
        }
    }
}

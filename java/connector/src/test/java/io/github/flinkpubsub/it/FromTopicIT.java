package io.github.flinkpubsub.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.google.pubsub.v1.ListSubscriptionsRequest;
import com.google.pubsub.v1.Subscription;

import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.source.PubSubSource;
import io.github.flinkpubsub.source.PubSubSourceBuilder;
import io.github.flinkpubsub.testing.PubSubEmulator;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.configuration.StateRecoveryOptions;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Jobs that read a topic through a subscription of their own. */
@Tag("integration")
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class FromTopicIT {

    private static final String TOPIC = "projects/p/topics/input";

    private PubSubEmulator server;

    @TempDir private Path savepoints;

    @BeforeEach
    void startServer() throws Exception {
        CollectingSink.records.clear();
        server = PubSubEmulator.start();
        server.createTopic(TOPIC);
    }

    @AfterEach
    void stopServer() {
        server.close();
    }

    private static StreamExecutionEnvironment environment(int restarts, String savepoint) {
        Configuration configuration = new Configuration();
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "fixed-delay");
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_ATTEMPTS, restarts);
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_DELAY, Duration.ZERO);
        if (savepoint != null) {
            configuration.set(StateRecoveryOptions.SAVEPOINT_PATH, savepoint);
        }
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.createLocalEnvironment(2, configuration);
        env.enableCheckpointing(200);
        return env;
    }

    private PubSubSourceBuilder<String> source() {
        return PubSubSource.<String>builder()
                .fromTopic(TopicDestination.parse(TOPIC))
                .deserializer(new SimpleStringSchema())
                .emulatorEndpoint(server.endpoint());
    }

    private JobClient start(int restarts, String savepoint) throws Exception {
        StreamExecutionEnvironment env = environment(restarts, savepoint);
        env.fromSource(source().build(), WatermarkStrategy.noWatermarks(), "in")
                .uid("in")
                .map(new FailOnce("fail"))
                .returns(String.class)
                .sinkTo(new CollectingSink());
        return env.executeAsync();
    }

    private List<Subscription> subscriptions() {
        List<Subscription> all = new ArrayList<>();
        server.subscriber()
                .listSubscriptions(
                        ListSubscriptionsRequest.newBuilder().setProject("projects/p").build())
                .getSubscriptionsList()
                .forEach(all::add);
        return all;
    }

    private Subscription awaitSubscription() throws Exception {
        List<Subscription> all;
        long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
        while ((all = subscriptions()).isEmpty()) {
            assertThat(System.nanoTime()).as("no subscription").isLessThan(deadline);
            TimeUnit.MILLISECONDS.sleep(20);
        }
        assertThat(all).hasSize(1);
        return all.get(0);
    }

    private void awaitNoSubscription() throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (!subscriptions().isEmpty()) {
            assertThat(System.nanoTime()).as("still there").isLessThan(deadline);
            TimeUnit.MILLISECONDS.sleep(20);
        }
    }

    /** Waits until these have come; on a slow machine a lease may run out, and one comes twice. */
    private static void await(String... records) throws Exception {
        List<String> expected = List.of(records);
        long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
        synchronized (CollectingSink.records) {
            while (!CollectingSink.records.containsAll(expected)) {
                long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
                assertThat(left).as("%s of %s", CollectingSink.records, expected).isPositive();
                CollectingSink.records.wait(left);
            }
        }
    }

    @Test
    void aCancelledJobTakesItsSubscriptionAlong() throws Exception {
        server.publish(TOPIC, "before");
        JobClient job = start(0, null);
        Subscription subscription = awaitSubscription();
        assertThat(subscription.getName()).startsWith("projects/p/subscriptions/flink-input-");
        assertThat(subscription.getTopic()).isEqualTo(TOPIC);
        assertThat(subscription.getExpirationPolicy().getTtl().getSeconds()).isEqualTo(86_400);
        server.publish(TOPIC, "a", "b");
        await("a", "b");
        job.cancel().get();
        awaitNoSubscription();
        assertThat(CollectingSink.records).containsOnly("a", "b");
    }

    @Test
    void aRestoredJobGoesOnWithItsSubscription() throws Exception {
        JobClient job = start(0, null);
        Subscription subscription = awaitSubscription();
        server.publish(TOPIC, "a");
        await("a");
        String savepoint = Savepoints.stop(job, savepoints);
        server.publish(TOPIC, "b");

        JobClient restored = start(0, savepoint);
        await("a", "b");
        assertThat(subscriptions()).containsExactly(subscription);
        restored.cancel().get();
        awaitNoSubscription();
    }

    @Test
    void aRestartGoesOnWithTheSubscription() throws Exception {
        FailOnce.failed.set(false);
        JobClient job = start(1, null);
        Subscription subscription = awaitSubscription();
        server.publish(TOPIC, "a");
        await("a");
        server.publish(TOPIC, "fail", "b");
        await("a", "fail", "b");
        assertThat(FailOnce.failed).isTrue();
        assertThat(subscriptions()).containsExactly(subscription);
        job.cancel().get();
        awaitNoSubscription();
    }

    @Test
    void aJobThatFailsForGoodTakesItsSubscriptionAlong() throws Exception {
        FailOnce.failed.set(false);
        JobClient job = start(0, null);
        awaitSubscription();
        server.publish(TOPIC, "fail");
        assertThat(catchThrowable(() -> job.getJobExecutionResult().get())).isNotNull();
        awaitNoSubscription();
    }

    /** Runs a job in a cluster of its own and cancels it. */
    private void runAndCancel(Configuration settings, boolean savepoint) throws Exception {
        try (SessionCluster cluster = SessionCluster.start(1)) {
            StreamExecutionEnvironment env = cluster.environment(1, settings);
            env.enableCheckpointing(100);
            env.fromSource(source().build(), WatermarkStrategy.noWatermarks(), "in")
                    .sinkTo(new CollectingSink());
            JobClient job = env.executeAsync();
            awaitSubscription();
            server.publish(TOPIC, "a");
            await("a");
            if (savepoint) {
                job.triggerSavepoint(savepoints.toString(), SavepointFormatType.CANONICAL).get();
            }
            // Acknowledged: a checkpoint has completed since.
            server.publish(TOPIC, "b");
            String name = awaitSubscription().getName();
            long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
            while (server.control().subscription(name).acked() < 2) {
                assertThat(System.nanoTime()).as("not acknowledged").isLessThan(deadline);
                TimeUnit.MILLISECONDS.sleep(20);
            }
            job.cancel().get();
        }
    }

    @Test
    void aSessionsCancelledJobTakesItsSubscriptionAlong() throws Exception {
        runAndCancel(new Configuration(), false);
        awaitNoSubscription();
    }

    @Test
    void aCheckpointThatIsRetainedKeepsTheSubscription() throws Exception {
        Configuration settings = new Configuration();
        settings.setString(
                "execution.checkpointing.externalized-checkpoint-retention",
                "RETAIN_ON_CANCELLATION");
        settings.setString("execution.checkpointing.dir", savepoints.toUri().toString());
        settings.setString("state.checkpoints.dir", savepoints.toUri().toString());
        runAndCancel(settings, false);
        assertThat(subscriptions()).hasSize(1);
    }

    @Test
    void aSavepointOnTheWayKeepsTheSubscription() throws Exception {
        runAndCancel(new Configuration(), true);
        assertThat(subscriptions()).hasSize(1);
    }

    @Test
    void aBoundedJobTakesItsSubscriptionAlong() throws Exception {
        StreamExecutionEnvironment env = environment(0, null);
        env.fromSource(
                        source().stopWhenIdle(Duration.ofSeconds(2)).build(),
                        WatermarkStrategy.noWatermarks(),
                        "in")
                .sinkTo(new CollectingSink());
        JobClient job = env.executeAsync();
        awaitSubscription();
        server.publish(TOPIC, "a");
        job.getJobExecutionResult().get();
        awaitNoSubscription();
        assertThat(CollectingSink.records).containsOnly("a");
    }
}

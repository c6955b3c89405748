package io.github.flinkpubsub.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.Subscription;

import io.github.flinkpubsub.source.OrderingMode;
import io.github.flinkpubsub.source.PubSubSource;
import io.github.flinkpubsub.source.StartPosition;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** Jobs that go on from a savepoint: at another parallelism, with other subscriptions. */
@Tag("integration")
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class RestoreIT extends JobTest {

    private static final List<String> TOPICS =
            List.of(
                    "projects/p/topics/topic-a",
                    "projects/p/topics/topic-b",
                    "projects/p/topics/topic-c");
    private static final List<String> SUBS =
            List.of(
                    "projects/p/subscriptions/a-sub",
                    "projects/p/subscriptions/b-sub",
                    "projects/p/subscriptions/c-sub");

    private SessionCluster cluster;

    @BeforeEach
    void createTopics() throws Exception {
        cluster = SessionCluster.start(3);
        TOPICS.forEach(server::createTopic);
        control.record(true);
    }

    @AfterEach
    void stopCluster() throws Exception {
        try {
            cancel();
        } finally {
            cluster.close();
        }
    }

    /** Starts a job, from a savepoint unless it is null. */
    private void start(int parallelism, String savepoint, PubSubSource<String> source)
            throws Exception {
        Configuration configuration = new Configuration();
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "none");
        if (savepoint != null) {
            configuration.set(
                    ConfigOptions.key("execution.state-recovery.path")
                            .stringType()
                            .noDefaultValue(),
                    savepoint);
        }
        StreamExecutionEnvironment env = cluster.environment(parallelism, configuration);
        env.enableCheckpointing(200);
        env.fromSource(source, WatermarkStrategy.noWatermarks(), "in")
                .uid("in")
                .sinkTo(new CollectingSink())
                .uid("out");
        job = env.executeAsync();
    }

    private long streams(String subscription) {
        return control.subscription(subscription).streams();
    }

    private List<String> sought() {
        return control.requests("Seek").stream()
                .map(request -> request.resource())
                .collect(Collectors.toList());
    }

    @Test
    void theParallelismMayChange() throws Exception {
        String sub = SUBS.get(0);
        String topic = TOPICS.get(0);
        server.createSubscription(
                Subscription.newBuilder()
                        .setName(sub)
                        .setTopic(topic)
                        .setRetainAckedMessages(true)
                        .build());
        publish(topic, numbered(0, 500));
        String savepoint = null;
        int published = 500;
        for (int parallelism : new int[] {1, 3, 2}) {
            start(
                    parallelism,
                    savepoint,
                    texts(sub).startPosition(StartPosition.earliestRetained()).build());
            await("a stream a subtask", () -> streams(sub) == parallelism);
            publish(topic, numbered(published, published + 500));
            published += 500;
            CollectingSink.await(published, TIMEOUT_MILLIS);
            savepoint = stop();
            // All that was emitted is acknowledged before the source closes.
            assertThat(unacked(sub)).isZero();
            // What comes while no job runs is read by the next.
            publish(topic, numbered(published, published + 500));
            published += 500;
        }
        assertThat(sorted(records())).isEqualTo(sorted(numbered(0, published - 500)));
        assertThat(unacked(sub)).isEqualTo(500);
        // Otherwise the later jobs would have begun from the start.
        assertThat(sought()).containsExactly(sub);
    }

    @Test
    void subscriptionsMayComeAndGo() throws Exception {
        for (int i = 0; i < 3; i++) {
            server.createSubscription(SUBS.get(i), TOPICS.get(i));
            publish(TOPICS.get(i), List.of("before " + i));
        }
        start(
                2,
                null,
                texts(SUBS.get(0), SUBS.get(1)).startPosition(StartPosition.latest()).build());
        await("streams", () -> streams(SUBS.get(0)) == 1 && streams(SUBS.get(1)) == 1);
        publish(TOPICS.get(0), List.of("first 0"));
        publish(TOPICS.get(1), List.of("first 1"));
        CollectingSink.await(2, TIMEOUT_MILLIS);
        String savepoint = stop();
        for (int i = 0; i < 3; i++) {
            publish(TOPICS.get(i), List.of("between " + i));
        }
        // The first one goes, the third one comes, and is moved to the start position then.
        start(
                2,
                savepoint,
                texts(SUBS.get(1), SUBS.get(2)).startPosition(StartPosition.latest()).build());
        await("streams", () -> streams(SUBS.get(1)) == 1 && streams(SUBS.get(2)) == 1);
        publish(TOPICS.get(2), List.of("second 2"));
        CollectingSink.await(4, TIMEOUT_MILLIS);
        savepoint = stop();
        assertThat(sorted(records()))
                .containsExactly("between 1", "first 0", "first 1", "second 2");
        assertThat(unacked(SUBS.get(0))).isEqualTo(1);
        assertThat(sought()).containsExactly(SUBS.get(0), SUBS.get(1), SUBS.get(2));

        // The first one comes back: it is new again, and all are read at a parallelism of one.
        start(
                1,
                savepoint,
                texts(SUBS.toArray(new String[0])).startPosition(StartPosition.latest()).build());
        await("streams", () -> SUBS.stream().allMatch(sub -> streams(sub) == 1));
        publish(TOPICS.get(0), List.of("third 0"));
        CollectingSink.await(5, TIMEOUT_MILLIS);
        stop();
        assertThat(records()).last().isEqualTo("third 0");
        assertThat(sought()).hasSize(4).last().isEqualTo(SUBS.get(0));
        assertThat(unacked(SUBS.get(0))).isZero();
    }

    @Test
    void keysKeepTheirOrderAtAnotherParallelism() throws Exception {
        for (int i = 0; i < 2; i++) {
            server.createOrderedSubscription(SUBS.get(i), TOPICS.get(i));
        }
        String savepoint = null;
        int published = 0;
        for (int parallelism : new int[] {1, 3, 2}) {
            start(
                    parallelism,
                    savepoint,
                    texts(SUBS.get(0), SUBS.get(1)).orderingMode(OrderingMode.PER_KEY).build());
            for (int i = 0; i < 2; i++) {
                List<PubsubMessage> messages = new ArrayList<>();
                for (int number = published; number < published + 500; number++) {
                    messages.add(
                            PubsubMessage.newBuilder()
                                    .setData(ByteString.copyFromUtf8(i + ":" + number))
                                    .setOrderingKey("k")
                                    .build());
                }
                server.publish(TOPICS.get(i), messages);
            }
            published += 500;
            CollectingSink.await(2 * published, TIMEOUT_MILLIS);
            // A savepoint does not mind that a subtask without a split is gone.
            int surplus = Math.max(0, parallelism - 2);
            await("surplus subtasks to end", () -> cluster.finished(job) == surplus);
            savepoint = stop();
        }
        for (int i = 0; i < 2; i++) {
            String prefix = i + ":";
            List<String> expected = new ArrayList<>();
            for (int number = 0; number < published; number++) {
                expected.add(prefix + number);
            }
            assertThat(records().stream().filter(text -> text.startsWith(prefix)))
                    .containsExactlyElementsOf(expected);
            assertThat(unacked(SUBS.get(i))).isZero();
        }
    }
}

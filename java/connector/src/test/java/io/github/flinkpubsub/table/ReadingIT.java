package io.github.flinkpubsub.table;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.pubsub.v1.GetSubscriptionRequest;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.Subscription;

import io.github.flinkpubsub.testing.SubscriptionState;

import org.apache.flink.table.api.ExplainDetail;
import org.apache.flink.types.Row;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.time.LocalDateTime;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** How a table is read. */
@Tag("integration")
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class ReadingIT {

    private static final String TOPIC = "projects/p/topics/events";
    private static final String SUB = "projects/p/subscriptions/events-sub";

    private SqlSession sql;

    @BeforeEach
    void start() throws Exception {
        sql = SqlSession.streaming(2);
        sql.server.createTopic(TOPIC);
        sql.server.createSubscription(SUB, TOPIC);
    }

    @AfterEach
    void stop() {
        sql.close();
    }

    private static PubsubMessage at(int id, long millis) {
        return PubsubMessage.newBuilder()
                .setData(ByteString.copyFromUtf8("{\"id\":" + id + "}"))
                .putAttributes("at", Long.toString(millis))
                .build();
    }

    /** Events of two subscriptions that are an hour apart. */
    private void twoSubscriptions(boolean both, String... options) {
        sql.server.createTopic("projects/p/topics/late");
        sql.server.createSubscription("projects/p/subscriptions/late", "projects/p/topics/late");
        String[] all = new String[options.length + 4];
        all[0] = "subscription = events-sub;late";
        all[1] = "format = json";
        all[2] = "scan.timestamp-attribute = at";
        all[3] = "scan.parallelism = 1";
        System.arraycopy(options, 0, all, 4, options.length);
        sql.table(
                "t",
                "id INT, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL, WATERMARK FOR ts"
                        + " AS ts",
                all);
        sql.set("table.local-time-zone", "UTC");
        long hour = 3_600_000;
        sql.server.publish(TOPIC, List.of(at(1, hour), at(2, hour + 1), at(3, 2 * hour + 1)));
        if (both) {
            sql.server.publish(
                    "projects/p/topics/late", List.of(at(4, 0), at(5, 1), at(6, 2 * hour + 1)));
        }
    }

    private static final String WINDOWS =
            "SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1'"
                    + " HOUR)) GROUP BY window_start, window_end";

    @Test
    void watermarksAreMadePerSplit() throws Exception {
        twoSubscriptions(true);
        assertThat(sql.explain(WINDOWS)).contains("watermark=[");
        // With one watermark for both, whatever comes second would be late.
        assertThat(sql.take(WINDOWS, 2))
                .containsExactly(
                        Row.of(LocalDateTime.of(1970, 1, 1, 0, 0), 2L),
                        Row.of(LocalDateTime.of(1970, 1, 1, 1, 0), 2L));
    }

    @Test
    void aSplitWithoutMessagesCountsNoMoreWhenItIsIdle() throws Exception {
        twoSubscriptions(false, "scan.watermark.idle-timeout = 1 s");
        assertThat(sql.take(WINDOWS, 1))
                .containsExactly(Row.of(LocalDateTime.of(1970, 1, 1, 1, 0), 2L));
    }

    @Test
    void theSourceHasAParallelismOfItsOwn() throws Exception {
        sql.table(
                "t",
                "id INT",
                "subscription = events-sub",
                "format = json",
                "scan.parallelism = 3");
        assertThat(sql.env.explainSql("SELECT * FROM t", ExplainDetail.JSON_EXECUTION_PLAN))
                .contains("\"parallelism\" : 3");
        sql.server.publish(TOPIC, "{\"id\":1}");
        assertThat(sql.take("SELECT * FROM t", 1)).containsExactly(Row.of(1));
    }

    @Test
    void aMissingSubscriptionIsCreated() throws Exception {
        sql.table(
                "t",
                "id INT",
                "subscription = new;projects/other/subscriptions/newer",
                "format = json",
                "scan.auto-create.topics.new = events",
                "scan.auto-create.topics.projects/other/subscriptions/newer = "
                        + "projects/p/topics/events",
                "scan.auto-create.ack-deadline = 77 s",
                "scan.auto-create.message-ordering.enabled = true",
                "scan.auto-create.message-retention = 2 h",
                "scan.auto-create.retain-acked-messages = true",
                "scan.auto-create.never-expire = true",
                "scan.auto-create.dead-letter.topic = events",
                "scan.auto-create.dead-letter.max-delivery-attempts = 9",
                "scan.auto-create.filter = attributes:x",
                "scan.auto-create.labels.made-by = sql",
                "scan.bounded.mode = idle",
                "scan.bounded.idle-timeout = 1 s");
        assertThat(sql.all("SELECT * FROM t")).isEmpty();
        for (String name :
                List.of("projects/p/subscriptions/new", "projects/other/subscriptions/newer")) {
            Subscription created =
                    sql.server
                            .subscriber()
                            .getSubscription(
                                    GetSubscriptionRequest.newBuilder()
                                            .setSubscription(name)
                                            .build());
            assertThat(created.getTopic()).isEqualTo(TOPIC);
            assertThat(created.getAckDeadlineSeconds()).isEqualTo(77);
            assertThat(created.getEnableMessageOrdering()).isTrue();
            assertThat(created.getMessageRetentionDuration().getSeconds()).isEqualTo(7_200);
            assertThat(created.getRetainAckedMessages()).isTrue();
            assertThat(created.getExpirationPolicy().getTtl().getSeconds()).isZero();
            assertThat(created.getDeadLetterPolicy().getDeadLetterTopic()).isEqualTo(TOPIC);
            assertThat(created.getDeadLetterPolicy().getMaxDeliveryAttempts()).isEqualTo(9);
            assertThat(created.getFilter()).isEqualTo("attributes:x");
            assertThat(created.getLabelsMap()).containsEntry("made-by", "sql");
        }
    }

    @Test
    void severalSubscriptionsAreOneTable() throws Exception {
        sql.server.createTopic("projects/other/topics/other-events");
        sql.server.createSubscription(
                "projects/other/subscriptions/other-events", "projects/other/topics/other-events");
        sql.server.publish(TOPIC, "{\"id\":1}");
        sql.server.publish("projects/other/topics/other-events", "{\"id\":2}");
        sql.table(
                "t",
                "id INT",
                "subscription = events-sub; projects/other/subscriptions/other-events",
                "format = json");
        assertThat(sql.take("SELECT * FROM t", 2)).containsExactlyInAnyOrder(Row.of(1), Row.of(2));
    }

    @Test
    void aStartPositionIsSoughtOnce() throws Exception {
        sql.server.publish(TOPIC, "{\"id\":1}");
        sql.table(
                "t",
                "id INT",
                "subscription = events-sub",
                "format = json",
                "scan.startup.mode = latest",
                "scan.bounded.mode = idle",
                "scan.bounded.idle-timeout = 1 s");
        assertThat(sql.all("SELECT * FROM t")).isEmpty();
        sql.server.publish(TOPIC, "{\"id\":2}");
        assertThat(
                        sql.all(
                                "SELECT * FROM t /*+ OPTIONS('scan.startup.mode' ="
                                        + " 'continue-from-subscription') */"))
                .containsExactly(Row.of(2));
    }

    @Test
    void anUndecodableMessageFollowsThePolicy() throws Exception {
        sql.server.publish(TOPIC, "not json", "{\"id\":1}");
        sql.table("t", "id INT", "subscription = events-sub", "format = json");
        sql.run(
                "CREATE TABLE sink_ (id INT) WITH ('connector' = 'pubsub', 'project' = 'p', 'topic'"
                        + " = 'out', 'format' = 'json', 'emulator-endpoint' = '"
                        + sql.server.endpoint()
                        + "')");
        assertThat(sql.failure("INSERT INTO sink_ SELECT id FROM t")).contains("not json");
        assertThat(
                        sql.take(
                                "SELECT * FROM t /*+ OPTIONS('scan.deserialization-failure-policy'"
                                        + " = 'drop') */",
                                1))
                .containsExactly(Row.of(1));
    }

    @Test
    void aBatchQueryEndsAndAcknowledges() throws Exception {
        try (SqlSession batch = SqlSession.batch(2)) {
            batch.server.createTopic(TOPIC);
            batch.server.createOrderedSubscription(SUB, TOPIC);
            batch.server.createTopic("projects/p/topics/out");
            batch.server.createOrderedSubscription(
                    "projects/p/subscriptions/out", "projects/p/topics/out");
            String[] messages =
                    IntStream.range(0, 100)
                            .mapToObj(i -> "{\"id\":" + i % 3 + "}")
                            .toArray(String[]::new);
            batch.server.publish(TOPIC, messages);
            batch.table(
                    "t",
                    "id INT",
                    "subscription = events-sub",
                    "format = json",
                    "scan.bounded.mode = idle",
                    "scan.bounded.idle-timeout = 2 s");
            batch.table(
                    "out_",
                    "id INT, n BIGINT, k STRING METADATA FROM 'ordering-key'",
                    "topic = out",
                    "format = json",
                    "sink.message-ordering.enabled = true");
            batch.insert(
                    "INSERT INTO out_ SELECT id, COUNT(*), 'k' || CAST(id AS STRING) FROM t GROUP"
                            + " BY id");
            assertThat(
                            batch
                                    .server
                                    .receive(
                                            "projects/p/subscriptions/out",
                                            3,
                                            SqlSession.TIMEOUT_MILLIS)
                                    .stream()
                                    .map(message -> message.getData().toStringUtf8())
                                    .collect(Collectors.toList()))
                    .containsExactlyInAnyOrder(
                            "{\"id\":0,\"n\":34}", "{\"id\":1,\"n\":33}", "{\"id\":2,\"n\":33}");
            long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
            SubscriptionState state;
            do {
                assertThat(System.nanoTime()).as("acks").isLessThan(deadline);
                state = batch.server.control().subscription(SUB);
            } while (state.backlog() + state.outstanding() > 0);
        }
    }

    @Test
    void aTableEndsAtATime() throws Exception {
        sql.server.publish(TOPIC, "{\"id\":1}", "{\"id\":2}");
        long end = sql.server.control().now().toEpochMilli() + 1;
        sql.server.control().advance(java.time.Duration.ofSeconds(1));
        sql.server.publish(TOPIC, "{\"id\":3}");
        sql.table(
                "t",
                "id INT",
                "subscription = events-sub",
                "format = json",
                "scan.bounded.mode = timestamp",
                "scan.bounded.timestamp-millis = " + end);
        assertThat(sql.all("SELECT * FROM t")).containsExactlyInAnyOrder(Row.of(1), Row.of(2));
    }

    @Test
    void explainTellsWhatIsRead() {
        sql.table(
                "t",
                "id INT, k STRING METADATA FROM 'ordering-key' VIRTUAL",
                "subscription = events-sub",
                "format = json");
        assertThat(sql.env.explainSql("SELECT * FROM t", ExplainDetail.JSON_EXECUTION_PLAN))
                .contains("metadata=[ordering-key]")
                // As Flink to 2.2 and as 2.3 call it.
                .containsPattern(
                        "Source: (t\\[|PubSub\\(default_catalog[.]default_database[.]t\\))");
    }
}

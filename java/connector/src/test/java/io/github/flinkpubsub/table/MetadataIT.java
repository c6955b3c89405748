package io.github.flinkpubsub.table;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.pubsub.v1.DeadLetterPolicy;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.Subscription;

import io.github.flinkpubsub.testing.SubscriptionState;

import org.apache.flink.types.Row;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** What a message has beside its payload, as columns. */
@Tag("integration")
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class MetadataIT {

    private static final String TOPIC = "projects/p/topics/events";
    private static final String SUB = "projects/p/subscriptions/events-sub";

    private SqlSession sql;

    @BeforeEach
    void start() throws Exception {
        sql = SqlSession.streaming(1);
        sql.server.createTopic(TOPIC);
        sql.server.createSubscription(SUB, TOPIC);
    }

    @AfterEach
    void stop() {
        sql.close();
    }

    private void bothWays(String columns, String... options) {
        String[] all = new String[options.length + 3];
        all[0] = "topic = events";
        all[1] = "subscription = events-sub";
        all[2] = "format = json";
        System.arraycopy(options, 0, all, 3, options.length);
        sql.table("t", columns, all);
    }

    @Test
    void orderingKeysThatAreNullOrEmptyAreNone() throws Exception {
        bothWays(
                "id INT, k STRING METADATA FROM 'ordering-key'",
                "sink.message-ordering.enabled = true");
        sql.insert("INSERT INTO t VALUES (1, CAST(NULL AS STRING)), (2, ''), (3, 'k')");
        assertThat(sql.take("SELECT id, k FROM t", 3))
                .containsExactlyInAnyOrder(Row.of(1, null), Row.of(2, null), Row.of(3, "k"));
    }

    @Test
    void attributesAreEqualOnBothSides() throws Exception {
        bothWays("id INT, a MAP<STRING, STRING> METADATA FROM 'attributes'");
        sql.insert(
                "INSERT INTO t VALUES"
                        + " (1, MAP['a', 'é😀', 'zero', U&'x\\0000y', 'none', '']),"
                        + " (2, MAP['gone', 'x']),"
                        + " (3, CAST(NULL AS MAP<STRING, STRING>))");
        assertThat(sql.take("SELECT id, a FROM t", 3))
                .containsExactlyInAnyOrder(
                        Row.of(1, Map.of("a", "é😀", "zero", "x\u0000y", "none", "")),
                        Row.of(2, Map.of("gone", "x")),
                        Row.of(3, Map.of()));
    }

    @Test
    void aNullInAttributesIsAnErrorThatNamesThem() {
        bothWays("id INT, a MAP<STRING, STRING> METADATA FROM 'attributes'");
        assertThat(
                        sql.failure(
                                "INSERT INTO t VALUES (1, MAP['fine', 'x', 'a', CAST(NULL AS"
                                        + " STRING)])"))
                .contains("'attributes' has the value NULL for the key 'a'")
                .contains("record 1 of subtask 0");
        assertThat(sql.server.pull(SUB, 1)).isEmpty();
    }

    @Test
    void publishTimesAreAsPreciseAsDeclared() throws Exception {
        sql.server.control().stopClock();
        Instant published = sql.server.control().now();
        for (int precision : new int[] {0, 3, 6, 9}) {
            sql.server.publish(TOPIC, "{\"id\":1}");
            sql.table(
                    "t" + precision,
                    String.format(
                            "published TIMESTAMP_LTZ(%d) METADATA FROM 'publish-time' VIRTUAL, id"
                                    + " INT",
                            precision),
                    "subscription = events-sub",
                    "format = json",
                    "scan.bounded.mode = idle",
                    "scan.bounded.idle-timeout = 1 s");
            long unit = (long) Math.pow(10, 9 - precision);
            assertThat(sql.all("SELECT published, id FROM t" + precision))
                    .containsExactly(Row.of(published.minusNanos(published.getNano() % unit), 1));
        }
    }

    @Test
    void publishTimesHaveMillisecondsByDefault() throws Exception {
        sql.server.publish(TOPIC, "{\"id\":1}");
        sql.table(
                "t",
                "id INT, published TIMESTAMP_LTZ(3) METADATA FROM 'publish-time' VIRTUAL,"
                        + " `timestamp` TIMESTAMP_LTZ(3) METADATA VIRTUAL",
                "subscription = events-sub",
                "format = json");
        Row row = sql.take("SELECT published, `timestamp` FROM t", 1).get(0);
        Instant published = (Instant) row.getField(0);
        assertThat(published.getNano() % 1_000_000).isZero();
        assertThat(published).isBetween(Instant.now().minusSeconds(60), Instant.now());
        assertThat(row.getField(1)).isEqualTo(published);
    }

    @Test
    void idAttemptAndSubscriptionAreRead() throws Exception {
        String counted = "projects/other/subscriptions/counted";
        sql.server.createTopic("projects/p/topics/letters");
        sql.server.createSubscription(
                Subscription.newBuilder()
                        .setName(counted)
                        .setTopic(TOPIC)
                        .setDeadLetterPolicy(
                                DeadLetterPolicy.newBuilder()
                                        .setDeadLetterTopic("projects/p/topics/letters")
                                        .setMaxDeliveryAttempts(5))
                        .build());
        List<String> ids = sql.server.publish(TOPIC, "{\"id\":1}");
        sql.table(
                "t",
                "id INT,"
                        + " message_id STRING METADATA FROM 'message-id' VIRTUAL,"
                        + " attempt INT METADATA FROM 'delivery-attempt' VIRTUAL,"
                        + " sub STRING METADATA FROM 'subscription' VIRTUAL",
                "subscription = events-sub;" + counted,
                "format = json");
        assertThat(sql.take("SELECT id, message_id, attempt, sub FROM t", 2))
                .containsExactlyInAnyOrder(
                        Row.of(1, ids.get(0), null, SUB), Row.of(1, ids.get(0), 1, counted));
    }

    @Test
    void theEventTimeIsWrittenToAnAttributeAndReadFromIt() throws Exception {
        bothWays(
                "id INT, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',"
                        + " a MAP<STRING, STRING> METADATA FROM 'attributes'",
                "sink.timestamp-attribute = at",
                "scan.timestamp-attribute = at");
        sql.insert("INSERT INTO t VALUES (1, TO_TIMESTAMP_LTZ(1234567890123, 3), MAP['x', 'y'])");
        assertThat(sql.take("SELECT * FROM t", 1))
                .containsExactly(
                        Row.of(
                                1,
                                Instant.ofEpochMilli(1_234_567_890_123L),
                                Map.of("x", "y", "at", "1234567890123")));
        sql.insert(
                "INSERT INTO t VALUES (2, CAST(NULL AS TIMESTAMP_LTZ(3)),"
                        + " CAST(NULL AS MAP<STRING, STRING>))");
        PubsubMessage without = sql.server.receive(SUB, 1, SqlSession.TIMEOUT_MILLIS).get(0);
        assertThat(without.getAttributesMap()).isEmpty();
    }

    @Test
    void theEventTimeOfARowIsWrittenWithoutAColumn() throws Exception {
        sql.server.createTopic("projects/p/topics/input");
        sql.server.createSubscription("projects/p/subscriptions/input", "projects/p/topics/input");
        sql.server.publish(
                "projects/p/topics/input",
                List.of(
                        PubsubMessage.newBuilder()
                                .setData(ByteString.copyFromUtf8("{\"id\":1}"))
                                .putAttributes("at", "2009-02-13T23:31:30.123Z")
                                .build()));
        sql.table(
                "source_",
                "id INT, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL, WATERMARK FOR ts"
                        + " AS ts",
                "subscription = input",
                "format = json",
                "scan.bounded.mode = idle",
                "scan.bounded.idle-timeout = 1 s",
                "scan.timestamp-attribute = at");
        sql.table(
                "sink_",
                "id INT, ts TIMESTAMP_LTZ(3)",
                "topic = events",
                "format = json",
                "sink.timestamp-attribute = at");
        sql.insert("INSERT INTO sink_ SELECT id, ts FROM source_");
        PubsubMessage message = sql.server.receive(SUB, 1, SqlSession.TIMEOUT_MILLIS).get(0);
        assertThat(message.getAttributesMap()).isEqualTo(Map.of("at", "1234567890123"));
        sql.run("CREATE TEMPORARY VIEW v AS SELECT 2 AS id, CAST(NULL AS TIMESTAMP_LTZ(3)) AS ts");
        assertThat(sql.failure("INSERT INTO sink_ SELECT * FROM v"))
                .contains("'sink.timestamp-attribute' needs rows with an event time");
    }

    @Test
    void onlyTheMetadataOfAQueryIsRead() throws Exception {
        sql.table(
                "t",
                "id INT,"
                        + " message_id STRING METADATA FROM 'message-id' VIRTUAL,"
                        + " a MAP<STRING, STRING> METADATA FROM 'attributes' VIRTUAL,"
                        + " sub STRING METADATA FROM 'subscription' VIRTUAL",
                "subscription = events-sub",
                "format = json");
        assertThat(sql.explain("SELECT sub, id FROM t"))
                .contains("project=[id], metadata=[subscription]]], fields=[id, sub])");
        assertThat(sql.explain("SELECT id FROM t")).contains("metadata=[]]], fields=[id])");
        sql.server.publish(TOPIC, "{\"id\":7}");
        assertThat(sql.take("SELECT sub, id FROM t", 1)).containsExactly(Row.of(SUB, 7));
    }

    @Test
    void whatWasReadIsAcknowledged() throws Exception {
        bothWays("id INT");
        sql.server.publish(TOPIC, "{\"id\":1}", "{\"id\":2}");
        assertThat(
                        sql.all(
                                "SELECT * FROM t /*+ OPTIONS('scan.bounded.mode' = 'idle',"
                                        + " 'scan.bounded.idle-timeout' = '1 s') */"))
                .containsExactlyInAnyOrder(Row.of(1), Row.of(2));
        SubscriptionState state = sql.server.control().subscription(SUB);
        assertThat(state.backlog() + state.outstanding()).isZero();
    }
}

package io.github.flinkpubsub.table;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.pubsub.v1.PubsubMessage;

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

/** Rows that are written to a topic and read from its subscription. */
@Tag("integration")
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class RoundTripIT {

    private static final String TOPIC = "projects/my-project/topics/orders";
    private static final String SUB = "projects/my-project/subscriptions/orders-sub";

    private SqlSession sql;

    @BeforeEach
    void start() throws Exception {
        sql = SqlSession.streaming(2);
        sql.server.createTopic(TOPIC);
        sql.server.createOrderedSubscription(SUB, TOPIC);
    }

    @AfterEach
    void stop() {
        sql.close();
    }

    @Test
    void ordersAreWrittenByOneTableAndReadByAnother() throws Exception {
        sql.run(
                "CREATE TABLE incoming_orders ("
                        + "  order_id STRING,"
                        + "  amount INT,"
                        + "  message_id STRING METADATA FROM 'message-id' VIRTUAL,"
                        + "  publish_time TIMESTAMP_LTZ(3) METADATA FROM 'publish-time' VIRTUAL,"
                        + "  attrs MAP<STRING, STRING> METADATA FROM 'attributes' VIRTUAL,"
                        + "  ordering_key STRING METADATA FROM 'ordering-key' VIRTUAL,"
                        + "  subscription_name STRING METADATA FROM 'subscription' VIRTUAL,"
                        + "  WATERMARK FOR publish_time AS publish_time - INTERVAL '5' SECOND"
                        + ") WITH ("
                        + "  'connector' = 'pubsub',"
                        + "  'project' = 'my-project',"
                        + "  'subscription' = 'orders-sub',"
                        + "  'format' = 'json',"
                        + "  'scan.startup.mode' = 'continue-from-subscription',"
                        + "  'scan.ordering-mode' = 'per-key',"
                        + "  'emulator-endpoint' = '"
                        + sql.server.endpoint()
                        + "')");
        sql.run(
                "CREATE TABLE outgoing_orders ("
                        + "  order_id STRING,"
                        + "  amount INT,"
                        + "  attrs MAP<STRING, STRING> METADATA FROM 'attributes',"
                        + "  ordering_key STRING METADATA FROM 'ordering-key'"
                        + ") WITH ("
                        + "  'connector' = 'pubsub',"
                        + "  'project' = 'my-project',"
                        + "  'topic' = 'orders',"
                        + "  'format' = 'json',"
                        + "  'sink.message-ordering.enabled' = 'true',"
                        + "  'emulator-endpoint' = '"
                        + sql.server.endpoint()
                        + "')");
        Instant before = Instant.now();
        // One by one: what is no literal makes a union of VALUES, whose rows have no order.
        for (String order : List.of("'a-1', 10", "'a-2', 20")) {
            sql.insert(
                    "INSERT INTO outgoing_orders VALUES ("
                            + order
                            + ", MAP['source', 'sql', 'profile-key', 'customer-1'],"
                            + " 'customer-1')");
        }
        List<Row> rows =
                sql.take(
                        "SELECT order_id, amount, attrs['profile-key'] AS profile_key,"
                                + " ordering_key, message_id, publish_time, subscription_name"
                                + " FROM incoming_orders",
                        2);
        for (int i = 0; i < 2; i++) {
            Row row = rows.get(i);
            assertThat(row.getField(0)).isEqualTo("a-" + (i + 1));
            assertThat(row.getField(1)).isEqualTo(10 * (i + 1));
            assertThat(row.getField(2)).isEqualTo("customer-1");
            assertThat(row.getField(3)).isEqualTo("customer-1");
            assertThat((String) row.getField(4)).isNotEmpty();
            assertThat((Instant) row.getField(5))
                    .isBetween(before.minusSeconds(1), Instant.now().plusSeconds(1));
            assertThat(row.getField(6)).isEqualTo(SUB);
        }
        assertThat(rows.get(0).getField(4)).isNotEqualTo(rows.get(1).getField(4));
    }

    @Test
    void aTableOverOneTopicIsUsedBothWays() throws Exception {
        sql.table(
                "t",
                "id INT, name STRING, key_ STRING METADATA FROM 'ordering-key'",
                "topic = " + TOPIC,
                "subscription = " + SUB,
                "format = json",
                "sink.message-ordering.enabled = true",
                "scan.ordering-mode = per-key");
        sql.insert("INSERT INTO t VALUES (1, 'one', 'k')");
        sql.insert("INSERT INTO t VALUES (2, CAST(NULL AS STRING), 'k')");
        assertThat(sql.take("SELECT * FROM t", 2))
                .containsExactly(Row.of(1, "one", "k"), Row.of(2, null, "k"));
    }

    @Test
    void aBoundedInsertIsOnTheServiceWhenItEnds() throws Exception {
        sql.table(
                "t",
                "id INT",
                "topic = " + TOPIC,
                "format = json",
                "sink.batching.delay-threshold = 1 h",
                "sink.batching.element-count-threshold = 1000");
        sql.insert("INSERT INTO t VALUES (1), (2), (3)");
        List<PubsubMessage> messages = sql.server.pull(SUB, 10);
        assertThat(messages)
                .extracting(message -> message.getData().toStringUtf8())
                .containsExactlyInAnyOrder("{\"id\":1}", "{\"id\":2}", "{\"id\":3}");
        assertThat(messages).allMatch(message -> message.getAttributesMap().equals(Map.of()));
    }
}

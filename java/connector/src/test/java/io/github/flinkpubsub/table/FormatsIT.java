package io.github.flinkpubsub.table;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.protobuf.Timestamp;
import com.google.pubsub.v1.PubsubMessage;

import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Payloads in Flink's formats. */
@Tag("integration")
@Tag("flink2") // The formats are Flink's, and not those of 1.20 on Maven Central.
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class FormatsIT {

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

    @Test
    void csv() throws Exception {
        sql.table(
                "t",
                "id INT, name STRING",
                "topic = events",
                "subscription = events-sub",
                "format = csv",
                "csv.field-delimiter = |",
                "csv.null-literal = -");
        sql.insert("INSERT INTO t VALUES (1, 'a b'), (2, CAST(NULL AS STRING))");
        assertThat(sql.take("SELECT * FROM t", 2))
                .containsExactlyInAnyOrder(Row.of(1, "a b"), Row.of(2, null));
    }

    @Test
    void avroOfWhichAQueryTakesAPart() throws Exception {
        sql.table(
                "t",
                "id INT, name STRING, price DOUBLE, sub STRING METADATA FROM 'subscription'"
                        + " VIRTUAL",
                "topic = events",
                "subscription = events-sub",
                "format = avro");
        sql.insert("INSERT INTO t VALUES (1, 'a', 2.5)");
        assertThat(sql.take("SELECT sub, price, id FROM t", 1))
                .containsExactly(Row.of(SUB, 2.5, 1));
        sql.insert("INSERT INTO t VALUES (2, 'b', 3.5)");
        assertThat(sql.take("SELECT name FROM t WHERE id = 2", 1)).containsExactly(Row.of("b"));
    }

    @Test
    void raw() throws Exception {
        sql.table("t", "b BYTES", "topic = events", "subscription = events-sub", "format = raw");
        sql.insert("INSERT INTO t VALUES (X'00FF10')");
        Object bytes = sql.take("SELECT * FROM t", 1).get(0).getField(0);
        assertThat((byte[]) bytes).containsExactly(0, 255, 16);
        assertThat(sql.failure("INSERT INTO t VALUES (CAST(NULL AS BYTES))"))
                .contains("'raw' of NULL");
    }

    @Test
    void protobuf() throws Exception {
        sql.table(
                "t",
                "seconds BIGINT, nanos INT",
                "topic = events",
                "subscription = events-sub",
                "format = protobuf",
                "protobuf.message-class-name = com.google.protobuf.Timestamp");
        sql.insert("INSERT INTO t VALUES (17, 4)");
        assertThat(sql.take("SELECT * FROM t", 1)).containsExactly(Row.of(17L, 4));
        sql.insert("INSERT INTO t VALUES (18, 5)");
        Timestamp message =
                Timestamp.parseFrom(
                        sql.server.receive(SUB, 1, SqlSession.TIMEOUT_MILLIS).get(0).getData());
        assertThat(message.getSeconds()).isGreaterThanOrEqualTo(17);
    }

    private void confluentTable(String columns, SchemaRegistry registry) {
        sql.table(
                "t",
                columns,
                "topic = events",
                "subscription = events-sub",
                "format = avro-confluent",
                "avro-confluent.url = " + registry.url(),
                "avro-confluent.subject = orders");
    }

    @Test
    void avroConfluentByASchemaOfTheRegistry() throws Exception {
        try (SchemaRegistry registry = SchemaRegistry.start()) {
            confluentTable("id INT NOT NULL, name STRING", registry);
            sql.insert("INSERT INTO t VALUES (1, 'a'), (2, CAST(NULL AS STRING))");
            assertThat(registry.registered("orders")).contains("\\\"name\\\":\\\"id\\\"");
            assertThat(sql.take("SELECT * FROM t", 2))
                    .containsExactlyInAnyOrder(Row.of(1, "a"), Row.of(2, null));
        }
    }

    @Test
    void avroConfluentWritesTheSchemasIdAndReportsAnUnknownOne() throws Exception {
        try (SchemaRegistry registry = SchemaRegistry.start()) {
            confluentTable("id INT NOT NULL", registry);
            sql.insert("INSERT INTO t VALUES (3)");
            byte[] payload =
                    sql.server
                            .receive(SUB, 1, SqlSession.TIMEOUT_MILLIS)
                            .get(0)
                            .getData()
                            .toByteArray();
            // A zero, the id in four bytes, and 3 as Avro has it.
            assertThat(payload).containsExactly(0, 0, 0, 1, 2, 6);
            payload[4]++;
            PubsubMessage unknown =
                    PubsubMessage.newBuilder().setData(ByteString.copyFrom(payload)).build();
            sql.server.publish(TOPIC, List.of(unknown));
            assertThat(sql.failure("INSERT INTO t SELECT * FROM t")).contains("id 259");
        }
    }

    @Test
    void debeziumWithItsMetadata() throws Exception {
        sql.table(
                "t",
                "id INT, name STRING,"
                        + " `at` TIMESTAMP_LTZ(3) METADATA FROM 'ingestion-timestamp' VIRTUAL,"
                        + " db STRING METADATA FROM 'source.database' VIRTUAL,"
                        + " sub STRING METADATA FROM 'subscription' VIRTUAL",
                "subscription = events-sub",
                "format = debezium-json");
        sql.server.publish(
                TOPIC,
                "{\"before\":null,\"after\":{\"id\":1,\"name\":\"a\"},\"op\":\"c\",\"ts_ms\":5,"
                        + "\"source\":{\"db\":\"shop\"}}");
        assertThat(sql.take("SELECT * FROM t", 1))
                .containsExactly(Row.of(1, "a", Instant.ofEpochMilli(5), "shop", SUB));
        sql.server.publish(
                TOPIC,
                "{\"before\":{\"id\":1,\"name\":\"a\"},\"after\":{\"id\":1,\"name\":\"b\"},"
                        + "\"op\":\"u\",\"ts_ms\":6,\"source\":{\"db\":\"shop\"}}");
        assertThat(sql.take("SELECT name, sub, db FROM t", 2))
                .containsExactly(
                        Row.ofKind(RowKind.UPDATE_BEFORE, "a", SUB, "shop"),
                        Row.ofKind(RowKind.UPDATE_AFTER, "b", SUB, "shop"));
    }

    @Test
    void canalWithItsMetadata() throws Exception {
        sql.table(
                "t",
                "id INT, name STRING,"
                        + " tab STRING METADATA FROM 'table' VIRTUAL,"
                        + " id_ STRING METADATA FROM 'message-id' VIRTUAL",
                "topic = events",
                "subscription = events-sub",
                "format = canal-json");
        List<String> ids =
                sql.server.publish(
                        TOPIC,
                        "{\"data\":[{\"id\":\"1\",\"name\":\"a\"},{\"id\":\"2\",\"name\":\"b\"}],"
                                + "\"table\":\"people\",\"type\":\"INSERT\"}");
        // One message, two rows.
        assertThat(sql.take("SELECT id, name, tab, id_ FROM t", 2))
                .containsExactly(
                        Row.of(1, "a", "people", ids.get(0)), Row.of(2, "b", "people", ids.get(0)));
        sql.insert("INSERT INTO t VALUES (3, 'c')");
        assertThat(sql.take("SELECT id, name FROM t", 1)).containsExactly(Row.of(3, "c"));
    }
}

package io.github.flinkpubsub.table;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.pubsub.v1.GetTopicRequest;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.Topic;

import io.github.flinkpubsub.testing.RecordedRequest;

import org.apache.flink.table.api.ExplainDetail;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** What becomes of rows that are written. */
@Tag("integration")
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class WritingIT {

    private static final String TOPIC = "projects/p/topics/events";
    private static final String SUB = "projects/p/subscriptions/events-sub";

    private SqlSession sql;

    @BeforeEach
    void start() throws Exception {
        sql = SqlSession.streaming(4);
        sql.server.createTopic(TOPIC);
        sql.server.createOrderedSubscription(SUB, TOPIC);
    }

    @AfterEach
    void stop() {
        sql.close();
    }

    private List<String> payloads(String subscription, int count) {
        return sql.server.receive(subscription, count, SqlSession.TIMEOUT_MILLIS).stream()
                .map(message -> message.getData().toStringUtf8())
                .sorted()
                .collect(Collectors.toList());
    }

    private void topic(String id) {
        sql.server.createTopic("projects/p/topics/" + id);
        sql.server.createSubscription("projects/p/subscriptions/" + id, "projects/p/topics/" + id);
    }

    @Test
    void eachRowMayHaveATopicOfItsOwn() throws Exception {
        topic("topic-a");
        sql.server.createTopic("projects/other/topics/topic-b");
        sql.server.createSubscription(
                "projects/p/subscriptions/topic-b", "projects/other/topics/topic-b");
        sql.table(
                "t",
                "id INT, topic STRING METADATA",
                "topic = events",
                "format = json",
                "sink.auto-create.message-retention = 1 h",
                "sink.auto-create.labels.made-by = sql");
        sql.insert(
                "INSERT INTO t VALUES (1, 'topic-a'), (2, 'projects/other/topics/topic-b'),"
                        + " (3, CAST(NULL AS STRING)), (4, 'new'), (5, 'topic-a')");
        assertThat(payloads("projects/p/subscriptions/topic-a", 2))
                .containsExactly("{\"id\":1}", "{\"id\":5}");
        assertThat(payloads("projects/p/subscriptions/topic-b", 1)).containsExactly("{\"id\":2}");
        assertThat(payloads(SUB, 1)).containsExactly("{\"id\":3}");
        Topic created =
                sql.server
                        .publisher()
                        .getTopic(
                                GetTopicRequest.newBuilder()
                                        .setTopic("projects/p/topics/new")
                                        .build());
        assertThat(created.getMessageRetentionDuration().getSeconds()).isEqualTo(3_600);
        assertThat(created.getLabelsMap()).containsEntry("made-by", "sql");
    }

    @Test
    void aMissingTopicFailsWithCreateNever() {
        sql.table(
                "t",
                "id INT, topic STRING METADATA",
                "format = json",
                "sink.create-disposition = create-never");
        assertThat(sql.failure("INSERT INTO t VALUES (1, 'nowhere')"))
                .contains("projects/p/topics/nowhere")
                .contains("NOT_FOUND");
        assertThat(sql.failure("INSERT INTO t VALUES (1, CAST(NULL AS STRING))"))
                .contains("METADATA FROM 'topic' is NULL");
    }

    private void orderedTable(String... options) {
        String[] all = new String[options.length + 3];
        all[0] = "topic = events";
        all[1] = "format = json";
        all[2] = "sink.message-ordering.enabled = true";
        System.arraycopy(options, 0, all, 3, options.length);
        sql.table("ordered", "id INT, k STRING METADATA FROM 'ordering-key'", all);
    }

    private static String numbers(int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> "(" + i + ", '" + (i % 5 == 0 ? "" : "k" + i % 7) + "')")
                .collect(Collectors.joining(", ", "(VALUES ", ") AS v (id, k)"));
    }

    private String plan(String statement) {
        return sql.env.explainSql(statement, ExplainDetail.JSON_EXECUTION_PLAN);
    }

    @Test
    void equalKeysGoToOneWriterAndKeepTheirOrder() throws Exception {
        orderedTable("sink.parallelism = 3");
        String insert = "INSERT INTO ordered SELECT id, k FROM " + numbers(500);
        assertThat(plan(insert)).contains("\"ship_strategy\" : \"CUSTOM\"");
        sql.insert(insert);
        List<PubsubMessage> messages = sql.server.receive(SUB, 500, SqlSession.TIMEOUT_MILLIS);
        List<Integer> all = new ArrayList<>();
        for (int key = 0; key < 7; key++) {
            String wanted = "k" + key;
            List<Integer> ids =
                    messages.stream()
                            .filter(message -> message.getOrderingKey().equals(wanted))
                            .map(WritingIT::id)
                            .collect(Collectors.toList());
            assertThat(ids).isSorted();
            all.addAll(ids);
        }
        List<Integer> unordered =
                messages.stream()
                        .filter(message -> message.getOrderingKey().isEmpty())
                        .map(WritingIT::id)
                        .collect(Collectors.toList());
        assertThat(unordered).hasSize(100);
        all.addAll(unordered);
        assertThat(all).hasSize(500).doesNotHaveDuplicates();
    }

    private static int id(PubsubMessage message) {
        return Integer.parseInt(message.getData().toStringUtf8().replaceAll("\\D", ""));
    }

    @Test
    void thereIsNoExchangeForOneWriterOrWithoutKeys() {
        orderedTable("sink.parallelism = 1");
        assertThat(plan("INSERT INTO ordered SELECT id, k FROM " + numbers(5)))
                .doesNotContain("CUSTOM");
        sql.table(
                "t", "id INT, k STRING", "topic = events", "format = json", "sink.parallelism = 3");
        assertThat(plan("INSERT INTO t SELECT id, k FROM " + numbers(5)))
                .doesNotContain("CUSTOM")
                .contains("\"parallelism\" : 3");
    }

    @Test
    void theSinkTakesTheParallelismOfItsInput() {
        orderedTable();
        // VALUES have one subtask.
        assertThat(plan("INSERT INTO ordered VALUES (1, 'k')"))
                .doesNotContain("CUSTOM")
                .doesNotContain("\"parallelism\" : 4");
        sql.table(
                "in_",
                "id INT, k STRING METADATA FROM 'ordering-key' VIRTUAL",
                "subscription = events-sub",
                "format = json");
        assertThat(plan("INSERT INTO ordered SELECT id, k FROM in_"))
                .contains("\"ship_strategy\" : \"CUSTOM\"")
                .contains("\"parallelism\" : 4");
    }

    @Test
    void statementsOfASetAreOneJob() throws Exception {
        topic("small");
        topic("large");
        topic("input");
        sql.server.publish("projects/p/topics/input", "{\"id\":1}", "{\"id\":20}", "{\"id\":3}");
        sql.table(
                "in_",
                "id INT",
                "subscription = input",
                "format = json",
                "scan.bounded.mode = idle",
                "scan.bounded.idle-timeout = 1 s",
                "scan.parallelism = 1");
        sql.table("small", "id INT", "topic = small", "format = json");
        sql.run("CREATE TABLE big WITH ('topic' = 'large') LIKE small");
        sql.server.control().record(true);
        sql.env
                .createStatementSet()
                .addInsertSql("INSERT INTO small SELECT id FROM in_ WHERE id < 10")
                .addInsertSql("INSERT INTO big SELECT id FROM in_ WHERE id >= 10")
                .execute()
                .await(SqlSession.TIMEOUT_MILLIS, TimeUnit.MILLISECONDS);
        assertThat(payloads("projects/p/subscriptions/small", 2))
                .containsExactly("{\"id\":1}", "{\"id\":3}");
        assertThat(payloads("projects/p/subscriptions/large", 1)).containsExactly("{\"id\":20}");
        List<RecordedRequest> streams = sql.server.control().requests("StreamingPull");
        assertThat(streams).as("streams of one source").hasSize(1);
    }

    @Test
    void aFailureFollowsThePolicy() throws Exception {
        topic("letters");
        String columns = "id INT, a MAP<STRING, STRING> METADATA FROM 'attributes'";
        sql.table("failing", columns, "topic = events", "format = json");
        String insert =
                "INSERT INTO %s VALUES (1, MAP['a', 'x']), (2, MAP['google', 'x']), (3, MAP['b',"
                        + " 'x'])";
        assertThat(sql.failure(String.format(insert, "failing")))
                .contains("'google' starts with 'goog'");
        sql.table(
                "dropping",
                columns,
                "topic = events",
                "format = json",
                "sink.failure-policy = drop");
        sql.insert(String.format(insert, "dropping"));
        sql.table(
                "forwarding",
                columns,
                "topic = events",
                "format = json",
                "sink.failure-policy = dead-letter",
                "sink.dead-letter.topic = letters");
        sql.insert(String.format(insert, "forwarding"));
        PubsubMessage letter =
                sql.server
                        .receive("projects/p/subscriptions/letters", 1, SqlSession.TIMEOUT_MILLIS)
                        .get(0);
        assertThat(letter.getData().toStringUtf8()).isEqualTo("{\"id\":2}");
        assertThat(letter.getAttributesMap()).containsEntry("pubsub-failed-destination", TOPIC);
        assertThat(payloads(SUB, 4)).filteredOn("{\"id\":2}"::equals).isEmpty();
    }

    @Test
    void compressedRequestsArrive() throws Exception {
        sql.table(
                "t",
                "text STRING",
                "topic = events",
                "format = json",
                "sink.compression = gzip",
                "sink.compression-threshold = 1 kb");
        sql.insert("INSERT INTO t VALUES (REPEAT('x', 100000))");
        assertThat(payloads(SUB, 1).get(0)).hasSize(100_000 + "{\"text\":\"\"}".length());
    }

    @Test
    void aRowMayBeAsLargeAsAMessage() throws Exception {
        sql.table(
                "t", "text STRING", "topic = events", "subscription = events-sub", "format = json");
        sql.insert("INSERT INTO t VALUES (REPEAT('y', 9900000))");
        assertThat(sql.take("SELECT CHAR_LENGTH(text) FROM t", 1).get(0).getField(0))
                .isEqualTo(9_900_000);
        assertThat(sql.failure("INSERT INTO t VALUES (REPEAT('y', 10000000))"))
                .contains("10000000");
    }

    @Test
    void changesAreWrittenByAFormatThatHasThem() throws Exception {
        sql.table(
                "counts",
                "k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED",
                "topic = events",
                "subscription = events-sub",
                "format = debezium-json");
        sql.insert(
                "INSERT INTO counts SELECT k, COUNT(*) FROM (VALUES ('a'), ('a')) AS v (k) GROUP BY"
                        + " k");
        assertThat(payloads(SUB, 3))
                .containsExactly(
                        "{\"before\":null,\"after\":{\"k\":\"a\",\"n\":1},\"op\":\"c\"}",
                        "{\"before\":null,\"after\":{\"k\":\"a\",\"n\":2},\"op\":\"c\"}",
                        "{\"before\":{\"k\":\"a\",\"n\":1},\"after\":null,\"op\":\"d\"}");
    }
}

package io.github.flinkpubsub.table;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.PlanReference;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.util.ExceptionUtils;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Mistakes in a table are found when a statement is planned, and named by the key. */
class ValidationTest {

    private static final String READ = "SELECT * FROM t";
    private static final String WRITE = "INSERT INTO t (id) VALUES (1)";
    private static final String COLUMNS = "id INT";

    private static TableEnvironment env;

    @BeforeAll
    static void start() {
        env = TableEnvironment.create(EnvironmentSettings.inStreamingMode());
    }

    private static void table(String columns, String... options) {
        env.executeSql("DROP TABLE IF EXISTS t");
        StringBuilder with = new StringBuilder("'connector' = 'pubsub'");
        for (String option : options) {
            String[] parts = option.split("=", 2);
            with.append(", '").append(parts[0].trim()).append("' = '");
            with.append(parts[1].trim()).append('\'');
        }
        env.executeSql("CREATE TABLE t (" + columns + ") WITH (" + with + ")");
    }

    private static String[] and(String[] options, String... more) {
        List<String> all = new ArrayList<>(Arrays.asList(options));
        all.addAll(Arrays.asList(more));
        return all.toArray(new String[0]);
    }

    private static String[] reading(String... options) {
        return and(new String[] {"project=p", "format=json", "subscription=sub"}, options);
    }

    private static String[] writing(String... options) {
        return and(new String[] {"project=p", "format=json", "topic=top"}, options);
    }

    /** The messages of the validation error and its causes, without the list of all options. */
    private static String refused(String statement) {
        Throwable thrown = catchThrowable(() -> env.explainSql(statement));
        assertThat(thrown).as(statement + " is planned").isNotNull();
        assertThat(ExceptionUtils.findThrowable(thrown, ValidationException.class))
                .as(() -> ExceptionUtils.stringifyException(thrown))
                .isPresent();
        StringBuilder messages = new StringBuilder();
        for (Throwable t = thrown; t != null; t = t.getCause()) {
            if (!t.getMessage().startsWith("Unable to create")) {
                messages.append(t.getMessage()).append('\n');
            }
        }
        return messages.toString();
    }

    private static void accepted(String statement) {
        assertThat(env.explainSql(statement)).contains("Optimized Execution Plan");
    }

    private static String[] split(String options) {
        return Arrays.stream(options.split(" & ")).toArray(String[]::new);
    }

    @Test
    void theLeastOptionsAreEnough() {
        table(COLUMNS, reading());
        accepted(READ);
        table(COLUMNS, writing());
        accepted(WRITE);
    }

    @Test
    void whatIsMissingIsNamed() {
        table(COLUMNS, "format=json", "subscription=sub", "topic=top");
        assertThat(refused(READ)).contains("project");
        assertThat(refused(WRITE)).contains("project");
        table(COLUMNS, "project=p", "subscription=sub", "topic=top");
        assertThat(refused(READ)).contains("format");
        assertThat(refused(WRITE)).contains("format");
        table(COLUMNS, "project=p", "format=json", "topic=top");
        assertThat(refused(READ)).contains("'subscription' is missing");
        table(COLUMNS, "project=p", "format=json", "subscription=sub");
        assertThat(refused(WRITE)).contains("'topic' is missing");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "scan.startup.mod | scan.startup.mode",
                "scan.startupmode | scan.startup.mode",
                "scan_startup_mode | scan.startup.mode",
                "subscripton | subscription",
                "subscriptions | subscription",
                "topics | topic",
                "projekt | project",
                "scan.ordering.mode | scan.ordering-mode",
                "scan.max-outstanding-element-count |"
                        + " scan.flow-control.max-outstanding-element-count",
                "scan.auto-create.topic.sub | scan.auto-create.topics.sub",
                "sink.ordering.enabled | sink.message-ordering.enabled",
                "sink.failure.policy | sink.failure-policy",
                "emulator.endpoint | emulator-endpoint",
                "service-account-keyfile | service-account-key-file",
                "Scan.Parallelism | scan.parallelism",
                "scan.watermark.idle.timeout | scan.watermark.idle-timeout",
            })
    void aNearMissSuggestsTheKey(String typed, String meant) {
        table(COLUMNS, reading("topic=top", typed + "=1"));
        assertThat(refused(READ)).contains("'" + typed + "'").contains("mean '" + meant + "'?");
        assertThat(refused(WRITE)).contains("'" + typed + "'").contains("mean '" + meant + "'?");
    }

    @Test
    void aKeyThatIsLikeNoOtherListsThemAll() {
        table(COLUMNS, reading("bootstrap.servers=x"));
        assertThat(refused(READ))
                .contains("'bootstrap.servers'")
                .contains("scan.auto-create.topics")
                .contains("sink.compression");
    }

    @Test
    void anOptionOfTheFormatIsTheFormatsMatter() {
        table(COLUMNS, reading("json.ignore-parse-errors=true"));
        accepted(READ);
        table(COLUMNS, reading("json.ignore-parse-error=true"));
        assertThat(refused(READ)).contains("json.ignore-parse-error");
        table(COLUMNS, reading("csv.ignore-parse-errors=true"));
        assertThat(refused(READ)).contains("csv.ignore-parse-errors");
    }

    /** For each: the option, a bad value, and what the message says beside the key. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "project | a/b | not a path",
                "subscription | projects/p/topics/xxx | names a topic",
                "subscription | sub;sub | more than once",
                "subscription | sub;projects/p/subscriptions/sub | more than once",
                "subscription | googs | must start with a letter",
                "endpoint | https://pubsub.googleapis.com | host:port",
                "emulator-endpoint | localhost | host:port",
                "quota-project | a/b | not a path",
                "scan.startup.mode | earliest | earliest-retained",
                "scan.ordering-mode | key | per-key",
                "scan.deserialization-failure-policy | ignore | nack",
                "scan.bounded.mode | latest-offset | idle",
                "scan.message-rate-limit | 0 | 1",
                "scan.flow-control.max-outstanding-element-count | 0 | 10000000",
                "scan.flow-control.max-outstanding-element-count | many | many",
                "scan.flow-control.max-outstanding-request-bytes | 0 | within",
                "scan.max-buffered-bytes | 2 tb | within",
                "scan.parallel-pull-count | 65 | 64",
                "scan.ack.max-extension-period | 1 s | PT10S",
                "scan.ack.min-duration-per-extension | 9 s | PT10S",
                "scan.ack.max-duration-per-extension | 601 s | PT10M",
                "scan.ack.await-confirmation | perhaps | perhaps",
                "scan.max-records-per-fetch | 0 | within",
                "scan.first-checkpoint-timeout | 31 d | within",
                "scan.shutdown-timeout | 11 min | within",
                "scan.parallelism | 0 | at least 1",
                "scan.watermark.emit.strategy | often | often",
            })
    void aBadValueForReadingIsNamed(String key, String value, String says) {
        String[] options =
                Arrays.stream(reading(key + "=" + value))
                        .filter(
                                o ->
                                        !key.equals(o.substring(0, o.indexOf('=')))
                                                || o.endsWith(value))
                        .toArray(String[]::new);
        table(COLUMNS, options);
        assertThat(refused(READ)).contains("'" + key + "'").contains(says);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "scan.auto-create.topics.sub | projects/p/subscriptions/xxx | names a subscription",
                "scan.auto-create.ack-deadline | 9 s | PT10S",
                "scan.auto-create.ack-deadline | 601 s | PT10M",
                "scan.auto-create.message-retention | 9 min | PT10M",
                "scan.auto-create.expiration-ttl | 1 h | PT24H",
                "scan.auto-create.filter | attributes.x = \"" + FILTER + "\" | 256",
            })
    void aBadValueForNewSubscriptionsIsNamed(String key, String value, String says) {
        String topic = "scan.auto-create.topics.sub=top";
        String[] options =
                key.startsWith("scan.auto-create.topics")
                        ? reading(key + "=" + value)
                        : reading(topic, key + "=" + value);
        table(COLUMNS, options);
        String named = key.startsWith("scan.auto-create.topics") ? "scan.auto-create.topics" : key;
        assertThat(refused(READ)).contains("'" + named + "'").contains(says);
    }

    private static final String FILTER =
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                    + "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                    + "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                    + "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

    @ParameterizedTest
    @ValueSource(ints = {4, 101})
    void deliveryAttemptsAreInRange(int attempts) {
        String key = "scan.auto-create.dead-letter.max-delivery-attempts";
        table(
                COLUMNS,
                reading(
                        "scan.auto-create.topics.sub=top",
                        "scan.auto-create.dead-letter.topic=letters",
                        key + "=" + attempts));
        assertThat(refused(READ)).contains("'" + key + "'").contains("5 to 100");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "topic | projects/p/subscriptions/xxx | names a subscription",
                "topic | a b c | must start with a letter",
                "sink.create-disposition | never | create-never",
                "sink.failure-policy | ignore | dead-letter",
                "sink.compression | snappy | gzip",
                "sink.timestamp-attribute | google-time | goog",
                "sink.batching.element-count-threshold | 1001 | 1000",
                "sink.batching.request-byte-threshold | 11 mb | 10000000",
                "sink.batching.request-byte-threshold | 5 gb | 10000000",
                "sink.batching.delay-threshold | 2 h | PT1H",
                "sink.retry.initial-delay | 0 ms | PT0.001S",
                "sink.retry.delay-multiplier | 0.5 | 1 to 100",
                "sink.retry.max-delay | 2 d | within",
                "sink.retry.total-timeout | 2 d | within",
                "sink.retry.request-timeout | 2 d | within",
                "sink.recovery.initial-backoff | 0 ms | within",
                "sink.recovery.max-backoff | 2 d | within",
                "sink.recovery.max-attempts | 0 | within",
                "sink.message-ordering.enabled | on | on",
                "sink.in-flight.max-messages | 0 | within",
                "sink.in-flight.max-bytes | 0 | within",
                "sink.max-active-publishers | 0 | within",
                "sink.publisher-idle-timeout | 10 ms | within",
                "sink.max-consecutive-rejections | 0 | within",
                "sink.publish-progress-timeout | 10 ms | within",
                "sink.shutdown-timeout | 2 h | within",
                "sink.auto-create.message-retention | 9 min | PT10M",
                "sink.auto-create.storage-policy.allowed-regions | Europe! | region",
                "sink.parallelism | 0 | 0",
            })
    void aBadValueForWritingIsNamed(String key, String value, String says) {
        String[] options =
                Arrays.stream(writing(key + "=" + value))
                        .filter(
                                o ->
                                        !key.equals(o.substring(0, o.indexOf('=')))
                                                || o.endsWith(value))
                        .toArray(String[]::new);
        table(COLUMNS, options);
        assertThat(refused(WRITE)).contains("'" + key + "'").contains(says);
    }

    /** Options that contradict each other or make no sense alone; both are named. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "scan.startup.mode=timestamp | scan.startup.timestamp-millis",
                "scan.startup.mode=snapshot | scan.startup.snapshot",
                "scan.startup.timestamp-millis=1 | scan.startup.mode",
                "scan.startup.mode=latest & scan.startup.snapshot=x | scan.startup.snapshot",
                "scan.bounded.mode=timestamp | scan.bounded.timestamp-millis",
                "scan.bounded.mode=idle | scan.bounded.idle-timeout",
                "scan.bounded.idle-timeout=5 s | scan.bounded.mode",
                "scan.bounded.mode=idle & scan.bounded.idle-timeout=5 s &"
                        + " scan.bounded.timestamp-millis=1 | scan.bounded.timestamp-millis",
                "scan.ordering-mode=per-key & scan.parallel-pull-count=2 |"
                        + " scan.parallel-pull-count",
                "scan.ack.min-duration-per-extension=60 s &"
                        + " scan.ack.max-duration-per-extension=30 s |"
                        + " scan.ack.min-duration-per-extension",
                "scan.auto-create.ack-deadline=60 s | scan.auto-create.topics",
                "scan.auto-create.dead-letter.topic=xxx | scan.auto-create.topics",
                "scan.auto-create.labels.a=b | scan.auto-create.topics",
                "scan.auto-create.topics.other=top | scan.auto-create.topics",
                "scan.auto-create.topics.sub=top & scan.auto-create.topics.other=top |"
                        + " scan.auto-create.topics",
                "scan.auto-create.topics.sub=top & scan.auto-create.expiration-ttl=2 d &"
                        + " scan.auto-create.never-expire=true | scan.auto-create.never-expire",
                "scan.auto-create.topics.sub=top & scan.auto-create.dead-letter.topic=xxx |"
                        + " scan.auto-create.dead-letter.max-delivery-attempts",
                "scan.auto-create.topics.sub=top &"
                        + " scan.auto-create.dead-letter.max-delivery-attempts=5 |"
                        + " scan.auto-create.dead-letter.topic",
                "emulator-endpoint=localhost:1 & service-account-key-file=/k |"
                        + " service-account-key-file",
                "emulator-endpoint=localhost:1 & endpoint=localhost:2 | emulator-endpoint",
                "scan.watermark.alignment.group=g | scan.watermark.alignment.max-drift",
            })
    void contradictionsInReadingAreRefused(String options, String named) {
        table(COLUMNS, reading(split(options)));
        assertThat(refused(READ)).contains("'" + named);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "sink.create-disposition=create-never & sink.auto-create.message-retention=1 d |"
                        + " sink.auto-create.message-retention",
                "sink.create-disposition=create-never & sink.auto-create.labels.a=b |"
                        + " sink.create-disposition",
                "sink.auto-create.storage-policy.enforce-in-transit=true |"
                        + " sink.auto-create.storage-policy.enforce-in-transit",
                "sink.failure-policy=dead-letter | sink.dead-letter.topic",
                "sink.dead-letter.topic=xxx | sink.failure-policy",
                "sink.failure-policy=drop & sink.dead-letter.topic=xxx | sink.dead-letter.topic",
                "sink.compression-threshold=1 kb | sink.compression",
                "sink.retry.initial-delay=2 s & sink.retry.max-delay=1 s | sink.retry.max-delay",
                "sink.recovery.initial-backoff=2 s & sink.recovery.max-backoff=1 s |"
                        + " sink.recovery.max-backoff",
                "emulator-endpoint=localhost:1 & ca-certificate-file=/c | ca-certificate-file",
            })
    void contradictionsInWritingAreRefused(String options, String named) {
        table(COLUMNS, writing(split(options)));
        assertThat(refused(WRITE)).contains("'" + named);
    }

    @Test
    void metadataToWriteNeedsItsOptions() {
        table("id INT, k STRING METADATA FROM 'ordering-key'", writing());
        assertThat(refused(WRITE))
                .contains("'ordering-key'")
                .contains("'sink.message-ordering.enabled'");
        table(
                "id INT, k STRING METADATA FROM 'ordering-key'",
                writing("sink.message-ordering.enabled=false"));
        assertThat(refused(WRITE)).contains("'sink.message-ordering.enabled'");
        table("id INT, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp'", writing());
        assertThat(refused(WRITE)).contains("'timestamp'").contains("'sink.timestamp-attribute'");
        // Only to read: nothing is asked of the sink.
        table("id INT, k STRING METADATA FROM 'ordering-key' VIRTUAL", writing());
        accepted(WRITE);
        // Only to write: nothing is asked of the topic option.
        table("id INT, topic STRING METADATA", "project=p", "format=json");
        accepted(WRITE);
    }

    @Test
    void metadataThatThereIsNotIsRefused() {
        table("id INT, x STRING METADATA FROM 'offset'", reading());
        assertThat(refused(READ)).contains("offset").contains("delivery-attempt");
        table("id INT, x STRING METADATA FROM 'message-id'", writing());
        assertThat(refused(WRITE)).contains("message-id").contains("ordering-key");
        table("id INT, x INT METADATA FROM 'attributes' VIRTUAL", reading());
        assertThat(refused(READ)).contains("attributes");
    }

    @Test
    void aChangelogQueryIsRefused() {
        table(COLUMNS, writing("subscription=sub"));
        env.executeSql("DROP TABLE IF EXISTS counts");
        env.executeSql(
                "CREATE TABLE counts (k INT, n BIGINT) WITH ('connector' = 'pubsub',"
                        + " 'project' = 'p', 'format' = 'json', 'topic' = 'top')");
        Throwable thrown =
                catchThrowable(
                        () ->
                                env.explainSql(
                                        "INSERT INTO counts SELECT id, COUNT(*) FROM t GROUP BY"
                                                + " id"));
        assertThat(thrown).hasMessageContaining("doesn't support consuming update");
    }

    @Test
    void parallelismOfAChangelogNeedsAKey() {
        String[] options = {
            "project=p", "subscription=sub", "format=debezium-json", "scan.parallelism=2"
        };
        table(COLUMNS, options);
        assertThat(refused(READ)).contains("'scan.parallelism'").contains("primary key");
        table("id INT, PRIMARY KEY (id) NOT ENFORCED", options);
        accepted(READ);
    }

    @Test
    void anUnboundedTableIsRefusedInBatch() {
        TableEnvironment batch = TableEnvironment.create(EnvironmentSettings.inBatchMode());
        String ddl =
                "CREATE TABLE %s (id INT) WITH ('connector' = 'pubsub', 'project' = 'p',"
                        + " 'format' = 'json', 'subscription' = 'sub' %s)";
        batch.executeSql(String.format(ddl, "t", ""));
        assertThat(catchThrowable(() -> batch.explainSql(READ)))
                .isInstanceOf(ValidationException.class)
                .hasMessageContaining("unbounded");
        batch.executeSql(
                String.format(
                        ddl,
                        "bounded",
                        ", 'scan.bounded.mode' = 'idle', 'scan.bounded.idle-timeout' = '5 s'"));
        assertThat(batch.explainSql("SELECT * FROM bounded")).contains("TableSourceScan");
    }

    @Test
    void aCompiledPlanIsRestored() {
        table(
                "id INT, name STRING, ts TIMESTAMP_LTZ(3) METADATA FROM 'publish-time' VIRTUAL, a"
                        + " MAP<STRING, STRING> METADATA FROM 'attributes', WATERMARK FOR ts AS ts",
                reading("topic=top"));
        String plan =
                env.compilePlanSql("INSERT INTO t (name, a) SELECT name, MAP['k', 'v'] FROM t")
                        .asJsonString();
        assertThat(env.loadPlan(PlanReference.fromJsonString(plan)).explain())
                .contains("project=[name], metadata=[publish-time], watermark=[");
    }

    @Test
    void everyOptionIsAcceptedWithALegalValue() {
        for (String key : SampleOptions.keys()) {
            String[] options =
                    SampleOptions.with(key).entrySet().stream()
                            .map(option -> option.getKey() + "=" + option.getValue())
                            .toArray(String[]::new);
            table(COLUMNS, options);
            accepted(key.startsWith("sink.") ? WRITE : READ);
        }
    }
}

package io.github.flinkpubsub.table;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.flinkpubsub.ReferencePage;

import org.apache.flink.core.execution.JobClient;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Runs the page about SQL from its beginning to its end, as its reader would. */
@Tag("integration")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class SqlPageIT {

    private static final Pattern BLOCK =
            Pattern.compile("^```(\\w*)\\n(.*?)^```$", Pattern.MULTILINE | Pattern.DOTALL);
    private static final Pattern COMMAND =
            Pattern.compile("gcloud pubsub (topics|subscriptions) create (\\S+)(.*)");
    private static final Pattern SET = Pattern.compile("SET '([^']+)' = '([^']+)'");
    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss.SSS");
    private static final String PROJECT = "projects/my-project/";

    private SqlSession sql;
    private TableEnvironment batch;
    private boolean inBatch;
    private final List<JobClient> running = new ArrayList<>();
    private int statements;
    private int results;

    @BeforeEach
    void start() throws Exception {
        sql = SqlSession.streaming(2);
        batch = TableEnvironment.create(EnvironmentSettings.inBatchMode());
        for (String topic : List.of("large-orders", "small-orders")) {
            sql.server.createTopic(PROJECT + "topics/" + topic);
            sql.server.createSubscription(
                    PROJECT + "subscriptions/" + topic, PROJECT + "topics/" + topic);
        }
    }

    @AfterEach
    void stop() throws Exception {
        for (JobClient job : running) {
            job.cancel().get(1, TimeUnit.MINUTES);
        }
        sql.close();
    }

    @Test
    void everyExampleWorks() throws Exception {
        List<String[]> blocks = new ArrayList<>();
        Matcher block = BLOCK.matcher(ReferencePage.read("sql.md").text());
        while (block.find()) {
            blocks.add(new String[] {block.group(1), block.group(2)});
        }
        for (int i = 0; i < blocks.size(); i++) {
            String text = blocks.get(i)[1];
            switch (blocks.get(i)[0]) {
                case "sh":
                    text.lines().forEach(this::command);
                    break;
                case "sql":
                    boolean shown = i + 1 < blocks.size() && blocks.get(i + 1)[0].isEmpty();
                    statements(text, shown ? table(blocks.get(i + 1)[1]) : List.of());
                    break;
                default:
                    results++;
            }
        }
        assertThat(statements).isGreaterThan(20);
        assertThat(results).isEqualTo(4);
        theJobsThatRunOnDoTheirWork();
    }

    /** The ones that the page leaves running read what comes later. */
    private void theJobsThatRunOnDoTheirWork() throws Exception {
        assertThat(running).hasSize(2);
        sql.insert(
                "INSERT INTO orders (order_id, amount, customer) VALUES ('c-1', 19, 'c'),"
                        + " ('c-2', 20, 'c')");
        assertThat(payload("large-orders")).contains("c-2");
        assertThat(payload("small-orders")).contains("c-1");
        sql.insert(
                "INSERT INTO readings VALUES ('north', 1.0, TO_TIMESTAMP_LTZ(1700000300000, 3))");
        assertThat(payload("totals-sub")).contains("\"sensor\":\"north\",\"n\":1");
    }

    private String payload(String subscription) {
        return sql.server
                .receive(PROJECT + "subscriptions/" + subscription, 1, SqlSession.TIMEOUT_MILLIS)
                .get(0)
                .getData()
                .toStringUtf8();
    }

    private void command(String line) {
        Matcher command = COMMAND.matcher(line);
        assertThat(command.matches()).as(line).isTrue();
        String name = PROJECT + command.group(1) + "/" + command.group(2);
        String options = command.group(3);
        assertThat(options).contains("--project=my-project");
        if (command.group(1).equals("topics")) {
            sql.server.createTopic(name);
            return;
        }
        Matcher topic = Pattern.compile("--topic=(\\S+)").matcher(options);
        assertThat(topic.find()).as(line).isTrue();
        String path = PROJECT + "topics/" + topic.group(1);
        if (options.contains("--enable-message-ordering")) {
            sql.server.createOrderedSubscription(name, path);
        } else {
            sql.server.createSubscription(name, path);
        }
    }

    private void statements(String block, List<String> expected) throws Exception {
        // The statements of a set have a semicolon each, but only the set's last one ends a line.
        for (String statement : block.split(";\\n(?!  |END)")) {
            if (!statement.trim().isEmpty()) {
                statement(statement.trim(), expected);
                statements++;
            }
        }
    }

    private void statement(String statement, List<String> expected) throws Exception {
        Matcher set = SET.matcher(statement);
        TableEnvironment env = inBatch ? batch : sql.env;
        if (set.matches()) {
            set(set.group(1), set.group(2));
        } else if (statement.startsWith("CREATE")) {
            String table =
                    statement.replace(
                            "'connector' = 'pubsub',",
                            "'connector' = 'pubsub', 'emulator-endpoint' = '"
                                    + sql.server.endpoint()
                                    + "',");
            // Both have the client's one catalog.
            sql.env.executeSql(table);
            batch.executeSql(table);
        } else if (statement.startsWith("SELECT")) {
            assertThat(select(env, statement, expected.size())).as(statement).isEqualTo(expected);
        } else if (statement.contains("VALUES")) {
            env.executeSql(statement).await(SqlSession.TIMEOUT_MILLIS, TimeUnit.MILLISECONDS);
        } else {
            running.add(env.executeSql(statement).getJobClient().orElseThrow());
        }
    }

    private void set(String key, String value) {
        if (key.equals("execution.runtime-mode")) {
            // The client makes another environment for it.
            inBatch = value.equals("batch");
        } else if (!key.equals("execution.checkpointing.interval")) {
            // Rows are shown when a checkpoint completes: the session has shorter intervals.
            sql.env.getConfig().set(key, value);
            batch.getConfig().set(key, value);
        }
    }

    /** A query's rows, sorted. One for which the page shows none has an end. */
    private static List<String> select(TableEnvironment env, String query, int rows)
            throws Exception {
        List<Row> taken = new ArrayList<>();
        TableResult result = env.executeSql(query);
        try (CloseableIterator<Row> iterator = result.collect()) {
            while ((rows == 0 || taken.size() < rows) && iterator.hasNext()) {
                taken.add(iterator.next());
            }
        }
        return taken.stream().map(SqlPageIT::text).sorted().collect(Collectors.toList());
    }

    private static String text(Row row) {
        return IntStream.range(0, row.getArity())
                .mapToObj(row::getField)
                .map(
                        value ->
                                value instanceof LocalDateTime
                                        ? TIME.format((LocalDateTime) value)
                                        : String.valueOf(value))
                .collect(Collectors.joining("|"));
    }

    /** The rows below the headings, sorted; cells stand at least two blanks apart. */
    private static List<String> table(String text) {
        return Arrays.stream(text.split("\n"))
                .skip(1)
                .map(row -> row.trim().replaceAll(" {2,}", "|"))
                .sorted()
                .collect(Collectors.toList());
    }
}

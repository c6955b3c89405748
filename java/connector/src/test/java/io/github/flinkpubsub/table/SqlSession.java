package io.github.flinkpubsub.table;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.github.flinkpubsub.testing.PubSubEmulator;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.CoreOptions;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;
import org.apache.flink.util.ExceptionUtils;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** SQL statements against a server of their own. */
final class SqlSession implements AutoCloseable {

    static final long TIMEOUT_MILLIS = 60_000;

    final PubSubEmulator server;
    final TableEnvironment env;

    private SqlSession(PubSubEmulator server, TableEnvironment env) {
        this.server = server;
        this.env = env;
    }

    static SqlSession streaming(int parallelism) throws Exception {
        SqlSession session = start(EnvironmentSettings.newInstance().inStreamingMode());
        session.set("parallelism.default", Integer.toString(parallelism));
        session.set("execution.checkpointing.interval", "200 ms");
        return session;
    }

    static SqlSession batch(int parallelism) throws Exception {
        SqlSession session = start(EnvironmentSettings.newInstance().inBatchMode());
        session.set("parallelism.default", Integer.toString(parallelism));
        return session;
    }

    private static SqlSession start(EnvironmentSettings.Builder settings) throws Exception {
        Configuration configuration = new Configuration();
        configuration.set(CoreOptions.DEFAULT_PARALLELISM, 1);
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "none");
        return new SqlSession(
                PubSubEmulator.start(),
                TableEnvironment.create(settings.withConfiguration(configuration).build()));
    }

    void set(String key, String value) {
        env.getConfig().set(key, value);
    }

    /** Runs a statement that ends at once, such as DDL. */
    void run(String statement) {
        env.executeSql(statement);
    }

    /** Creates a table of the connector that talks to this session's server. */
    void table(String name, String columns, String... options) {
        run(ddl(name, columns, options));
    }

    String ddl(String name, String columns, String... options) {
        StringBuilder with = new StringBuilder();
        with.append("'connector' = 'pubsub', 'project' = 'p', ");
        with.append("'emulator-endpoint' = '").append(server.endpoint()).append('\'');
        for (String option : options) {
            String[] parts = option.split("=", 2);
            with.append(", '").append(parts[0].trim()).append("' = '");
            with.append(parts[1].trim().replace("'", "''")).append('\'');
        }
        return "CREATE TABLE " + name + " (" + columns + ") WITH (" + with + ")";
    }

    /** Runs a statement with an end and waits for it. */
    void insert(String statement) throws Exception {
        env.executeSql(statement).await(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS);
    }

    /** The first rows of a query, which is cancelled then. */
    List<Row> take(String query, int rows) throws Exception {
        List<Row> taken = new ArrayList<>();
        TableResult result = env.executeSql(query);
        try (CloseableIterator<Row> iterator = result.collect()) {
            while (taken.size() < rows && iterator.hasNext()) {
                taken.add(iterator.next());
            }
        }
        assertThat(taken).as(query).hasSize(rows);
        return taken;
    }

    /** All rows of a query with an end. */
    List<Row> all(String query) throws Exception {
        List<Row> rows = new ArrayList<>();
        try (CloseableIterator<Row> iterator = env.executeSql(query).collect()) {
            iterator.forEachRemaining(rows::add);
        }
        return rows;
    }

    String explain(String statement) {
        return env.explainSql(statement);
    }

    /** The text of the validation error that planning a statement ends with. */
    String refused(String statement) {
        Throwable thrown = catchThrowable(() -> env.explainSql(statement));
        assertThat(thrown).as(statement).isNotNull();
        ValidationException cause =
                ExceptionUtils.findThrowable(thrown, ValidationException.class).orElse(null);
        assertThat(cause).as(() -> ExceptionUtils.stringifyException(thrown)).isNotNull();
        return ExceptionUtils.stringifyException(thrown);
    }

    /** What a statement that is planned fails with when it runs. */
    String failure(String statement) {
        Throwable thrown = catchThrowable(() -> insert(statement));
        assertThat(thrown).as(statement).isNotNull();
        return ExceptionUtils.stringifyException(thrown);
    }

    @Override
    public void close() {
        server.close();
    }
}

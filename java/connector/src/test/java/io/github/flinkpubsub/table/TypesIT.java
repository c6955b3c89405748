package io.github.flinkpubsub.table;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.flink.types.Row;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Every type of SQL that a format has, written and read. */
@Tag("integration")
@Tag("flink2") // The formats are Flink's, and not those of 1.20 on Maven Central.
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class TypesIT {

    private static final String COLUMNS =
            "n INT, yes BOOLEAN, tiny TINYINT, small SMALLINT, i INT, big BIGINT, f FLOAT,"
                    + " d DOUBLE, dec_ DECIMAL(20, 3), c CHAR(3), v VARCHAR(5), s STRING, bin"
                    + " BINARY(2), vbin VARBINARY(4), by_ BYTES, day_ DATE, time_ TIME(0), ts"
                    + " TIMESTAMP(3), ltz TIMESTAMP_LTZ(3), arr ARRAY<STRING>, map_ MAP<STRING,"
                    + " INT>, row_ ROW<a INT, b ROW<x STRING>>";

    private SqlSession sql;

    @BeforeEach
    void start() throws Exception {
        sql = SqlSession.batch(1);
        sql.server.createTopic("projects/p/topics/events");
        sql.server.createSubscription(
                "projects/p/subscriptions/events-sub", "projects/p/topics/events");
    }

    @AfterEach
    void stop() {
        sql.close();
    }

    private void table(String columns, String... options) {
        String[] all = new String[options.length + 4];
        all[0] = "topic = events";
        all[1] = "subscription = events-sub";
        all[2] = "scan.bounded.mode = idle";
        all[3] = "scan.bounded.idle-timeout = 1 s";
        System.arraycopy(options, 0, all, 4, options.length);
        sql.table("t", columns, all);
    }

    @ParameterizedTest
    @CsvSource({
        "json, json.encode.decimal-as-plain-number = true",
        "avro, avro.timestamp_mapping.legacy = false"
    })
    void everyTypeComesBack(String format, String option) throws Exception {
        table(COLUMNS, "format = " + format, option);
        sql.insert(
                "INSERT INTO t VALUES (1, TRUE, CAST(-7 AS TINYINT), CAST(300 AS SMALLINT), -70000,"
                        + " 9007199254740993, CAST(1.5 AS FLOAT), 2.25E-3,"
                        + " CAST('12345678901234567.125' AS DECIMAL(20, 3)),"
                        + " 'abc', 'é', '😀', X'0102', X'03', X'04', DATE '2024-02-29', TIME"
                        + " '23:59:58', TIMESTAMP '2024-02-29 12:34:56.789',"
                        + " TO_TIMESTAMP_LTZ(1700000000123, 3), ARRAY['x', CAST(NULL AS STRING)],"
                        + " MAP['k', 1], ROW(1, ROW('y')))");
        StringBuilder nulls = new StringBuilder("INSERT INTO t SELECT 2");
        for (String type :
                new String[] {
                    "BOOLEAN",
                    "TINYINT",
                    "SMALLINT",
                    "INT",
                    "BIGINT",
                    "FLOAT",
                    "DOUBLE",
                    "DECIMAL(20, 3)",
                    "CHAR(3)",
                    "VARCHAR(5)",
                    "STRING",
                    "BINARY(2)",
                    "VARBINARY(4)",
                    "BYTES",
                    "DATE",
                    "TIME(0)",
                    "TIMESTAMP(3)",
                    "TIMESTAMP_LTZ(3)",
                    "ARRAY<STRING>",
                    "MAP<STRING, INT>",
                    "ROW<a INT, b ROW<x STRING>>"
                }) {
            nulls.append(", CAST(NULL AS ").append(type).append(')');
        }
        sql.insert(nulls.toString());
        Map<Object, Row> rows =
                sql.all("SELECT * FROM t").stream()
                        .collect(java.util.stream.Collectors.toMap(row -> row.getField(0), r -> r));
        assertThat(rows).hasSize(2);
        assertThat(rows.get(1))
                .isEqualTo(
                        Row.of(
                                1,
                                true,
                                (byte) -7,
                                (short) 300,
                                -70_000,
                                9_007_199_254_740_993L,
                                1.5f,
                                2.25e-3,
                                new BigDecimal("12345678901234567.125"),
                                "abc",
                                "é",
                                "😀",
                                new byte[] {1, 2},
                                new byte[] {3},
                                new byte[] {4},
                                LocalDate.of(2024, 2, 29),
                                LocalTime.of(23, 59, 58),
                                LocalDateTime.of(2024, 2, 29, 12, 34, 56, 789_000_000),
                                Instant.ofEpochMilli(1_700_000_000_123L),
                                new String[] {"x", null},
                                Map.of("k", 1),
                                Row.of(1, Row.of("y"))));
        Row empty = new Row(22);
        empty.setField(0, 2);
        assertThat(rows.get(2)).isEqualTo(empty);
    }

    @Test
    void multisetsComeBackThroughJson() throws Exception {
        table("m MULTISET<STRING>", "format = json");
        sql.insert("INSERT INTO t SELECT COLLECT(x) FROM (VALUES ('a'), ('b'), ('a')) AS v (x)");
        assertThat(sql.all("SELECT * FROM t")).containsExactly(Row.of(Map.of("a", 2, "b", 1)));
    }
}

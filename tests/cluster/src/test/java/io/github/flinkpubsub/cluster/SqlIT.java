package io.github.flinkpubsub.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.flinkpubsub.testing.PubSubEmulator;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** SQL as users type it: in the client, through the gateway, and from Python. */
@Tag("integration")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
@ExtendWith(ClusterExtension.class)
class SqlIT {
    private static final String TOPIC = "projects/my-project/topics/orders";
    private static final String SUBSCRIPTION = "projects/my-project/subscriptions/orders-sub";

    private PubSubEmulator server;

    @BeforeEach
    void startServer() throws IOException {
        server = PubSubEmulator.start("--quiet");
        server.createTopic(TOPIC);
        server.createSubscription(SUBSCRIPTION, TOPIC);
    }

    @AfterEach
    void stopServer() {
        server.close();
    }

    /** A script that writes two orders and reads them back; the reading ends. */
    private Path script(FlinkCluster cluster, String first) throws IOException {
        Path script = Files.createTempFile(cluster.folder(), "orders-", ".sql");
        Files.writeString(
                script,
                first
                        + "SET 'table.dml-sync' = 'true';\n"
                        + "SET 'sql-client.execution.result-mode' = 'tableau';\n"
                        + "CREATE TABLE orders (\n"
                        + "  order_id STRING,\n"
                        + "  amount INT,\n"
                        + "  attrs MAP<STRING, STRING> METADATA FROM 'attributes'\n"
                        + ") WITH (\n"
                        + "  'connector' = 'pubsub',\n"
                        + "  'project' = 'my-project',\n"
                        + "  'topic' = 'orders',\n"
                        + "  'subscription' = 'orders-sub',\n"
                        + "  'format' = 'json',\n"
                        + "  'scan.bounded.mode' = 'idle',\n"
                        + "  'scan.bounded.idle-timeout' = '3 s',\n"
                        + "  'emulator-endpoint' = '"
                        + server.endpoint()
                        + "'\n"
                        + ");\n"
                        + "INSERT INTO orders VALUES ('a-1', 10, MAP['by', 'sql']), ('a-2', 20,"
                        + " MAP['by', 'sql']);\n"
                        + "SELECT order_id || '!' AS name, amount + 1 AS more, attrs['by'] AS who"
                        + " FROM orders;\n");
        return script;
    }

    private void assertOrders(String printed) {
        assertThat(printed)
                .containsPattern("a-1! +\\| +11 \\| +sql \\|")
                .containsPattern("a-2! +\\| +21 \\| +sql \\|")
                .doesNotContain("[ERROR]");
        Await.until(
                "acks",
                FlinkCluster.LIMIT,
                () -> server.control().subscription(SUBSCRIPTION),
                state -> state.backlog() + state.outstanding() == 0);
    }

    @Test
    void theClientFindsTheConnectorInLib(FlinkCluster cluster) throws Exception {
        assertOrders(cluster.cli().sql("-f", script(cluster, "").toString()));
        cluster.awaitFreeSlots(2 * FlinkCluster.SLOTS);
    }

    @Test
    void theGatewayFindsTheConnectorInLib(FlinkCluster cluster) throws Exception {
        int port = FlinkCluster.freePort();
        try (GuardedProcess gateway = cluster.startGateway(port)) {
            assertOrders(
                    cluster.cli()
                            .sql(
                                    "gateway",
                                    "-e",
                                    "http://127.0.0.1:" + port,
                                    "-f",
                                    script(cluster, "").toString()));
        }
        cluster.awaitFreeSlots(2 * FlinkCluster.SLOTS);
    }

    @Test
    void aSessionBringsTheConnectorAlong() throws Exception {
        String jar = FlinkCluster.property("connector").toString();
        try (FlinkCluster cluster = FlinkCluster.start("plain")) {
            assertOrders(cluster.cli().sql("-j", jar, "-f", script(cluster, "").toString()));
            String added = "ADD JAR '" + jar + "';\n";
            assertOrders(cluster.cli().sql("-f", script(cluster, added).toString()));
            int port = FlinkCluster.freePort();
            try (GuardedProcess gateway = cluster.startGateway(port)) {
                assertOrders(
                        cluster.cli()
                                .sql(
                                        "gateway",
                                        "-e",
                                        "http://127.0.0.1:" + port,
                                        "-f",
                                        script(cluster, added).toString()));
            }
        }
    }

    @Test
    void aJobOfPyFlinkRuns(FlinkCluster cluster) throws Exception {
        String printed =
                cluster.cli()
                        .python(
                                FlinkCluster.property("python"),
                                FlinkCluster.property("pyflink").toString(),
                                "--emulator",
                                server.endpoint());
        assertThat(printed)
                .contains("Published 3 orders")
                .contains("customer-1: 30")
                .contains("customer-2: 5");
        cluster.awaitFreeSlots(2 * FlinkCluster.SLOTS);
    }
}

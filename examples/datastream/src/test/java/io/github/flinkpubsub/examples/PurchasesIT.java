package io.github.flinkpubsub.examples;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.testing.PubSubEmulator;

import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** The purchases, published by the DataStream job and by the statements of SQL. */
@Tag("integration")
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class PurchasesIT {

    private static final String TOPIC = "projects/p/topics/purchases";
    private static final String SUBSCRIPTION = "projects/p/subscriptions/purchases-sub";

    private static final Map<String, String> EXPECTED =
            Map.of(
                    "TV", "{buyer=Robert, timestamp=1613141590000}",
                    "Phone", "{buyer=Maria, timestamp=1612718280000}",
                    "Laptop", "{buyer=Juan, timestamp=1611618000000}",
                    "Video game", "{buyer=Rebeca, timestamp=1610000000000}");

    private PubSubEmulator server;

    @BeforeEach
    void startServer() throws Exception {
        server = PubSubEmulator.start();
        server.createTopic(TOPIC);
        server.createSubscription(SUBSCRIPTION, TOPIC);
    }

    @AfterEach
    void stopServer() {
        server.close();
    }

    private Map<String, String> published() throws Exception {
        List<PubsubMessage> messages = server.receive(SUBSCRIPTION, 4, 30_000);
        assertThat(server.pull(SUBSCRIPTION, 10)).isEmpty();
        return messages.stream()
                .collect(
                        Collectors.toMap(
                                message -> message.getData().toStringUtf8(),
                                message -> new TreeMap<>(message.getAttributesMap()).toString()));
    }

    @Test
    void inDataStream() throws Exception {
        Purchases.main(new String[] {"--topic", TOPIC, "--emulator", server.endpoint()});
        assertThat(published()).isEqualTo(EXPECTED);
    }

    @Test
    void inSql() throws Exception {
        Path folder = Paths.get("").toAbsolutePath();
        while (!Files.exists(folder.resolve("examples/sql/purchases.sql"))) {
            folder = folder.getParent();
        }
        String text =
                Files.readString(folder.resolve("examples/sql/purchases.sql"))
                        .replaceAll("(?m)^--.*$", "")
                        .replace(
                                "'project' = 'my-project'",
                                "'project' = 'p', 'emulator-endpoint' = '"
                                        + server.endpoint()
                                        + "'");
        TableEnvironment tables = TableEnvironment.create(EnvironmentSettings.inStreamingMode());
        for (String statement : text.split(";")) {
            if (!statement.trim().isEmpty()) {
                tables.executeSql(statement).await();
            }
        }
        assertThat(published()).isEqualTo(EXPECTED);
    }
}

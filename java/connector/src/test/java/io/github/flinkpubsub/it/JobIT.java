package io.github.flinkpubsub.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.PubSubSerializationSchema;
import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.sink.PubSubPublisherOptions;
import io.github.flinkpubsub.sink.PubSubSink;
import io.github.flinkpubsub.source.PubSubSource;
import io.github.flinkpubsub.source.PubSubSourceBuilder;
import io.github.flinkpubsub.testing.PubSubEmulator;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Jobs on a MiniCluster against the embedded server. */
@Tag("integration")
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class JobIT {

    private static final String IN = "projects/p/topics/input";
    private static final String IN_SUB = "projects/p/subscriptions/input-sub";
    private static final String OUT = "projects/p/topics/output";
    private static final String OUT_SUB = "projects/p/subscriptions/output-sub";
    private static final long TIMEOUT_MILLIS = 60_000;

    private PubSubEmulator server;

    @TempDir private Path savepoints;

    @BeforeEach
    void startServer() throws Exception {
        server = PubSubEmulator.start();
        server.createTopic(IN);
        server.createTopic(OUT);
        server.createSubscription(IN_SUB, IN);
        server.createSubscription(OUT_SUB, OUT);
    }

    @AfterEach
    void stopServer() {
        server.close();
    }

    private static StreamExecutionEnvironment environment(int parallelism) {
        Configuration configuration = new Configuration();
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "none");
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.createLocalEnvironment(parallelism, configuration);
        env.enableCheckpointing(200);
        return env;
    }

    private PubSubSourceBuilder<String> texts() {
        return PubSubSource.<String>builder()
                .subscription(SubscriptionDestination.parse(IN_SUB))
                .deserializer(new SimpleStringSchema())
                .emulatorEndpoint(server.endpoint());
    }

    private static List<String> numbered(int count) {
        return IntStream.range(0, count).mapToObj(i -> "m" + i).collect(Collectors.toList());
    }

    private static List<String> payloads(List<PubsubMessage> messages) {
        return messages.stream()
                .map(message -> message.getData().toStringUtf8())
                .sorted()
                .collect(Collectors.toList());
    }

    private static List<String> sorted(List<String> texts) {
        return texts.stream().sorted().collect(Collectors.toList());
    }

    @Test
    void copiesEverythingAndAcknowledgesIt() throws Exception {
        List<String> texts = numbered(5_000);
        for (int from = 0; from < texts.size(); from += 1_000) {
            server.publish(IN, texts.subList(from, from + 1_000).toArray(new String[0]));
        }
        StreamExecutionEnvironment env = environment(2);
        env.fromSource(texts().build(), WatermarkStrategy.noWatermarks(), "in")
                .sinkTo(
                        PubSubSink.<String>builder()
                                .topic(TopicDestination.parse(OUT))
                                .serializer(
                                        PubSubSerializationSchema.payload(new SimpleStringSchema())
                                                .withAttributes(
                                                        text ->
                                                                Map.of(
                                                                        "length",
                                                                        "" + text.length()))
                                                .withOrderingKey(text -> text.substring(0, 2)))
                                .publisherOptions(
                                        PubSubPublisherOptions.builder()
                                                .enableMessageOrdering(true)
                                                .build())
                                .emulatorEndpoint(server.endpoint())
                                .build());
        JobClient job = env.executeAsync();
        List<PubsubMessage> out = server.receive(OUT_SUB, texts.size(), TIMEOUT_MILLIS);
        job.stopWithSavepoint(false, savepoints.toString(), SavepointFormatType.CANONICAL)
                .get(1, TimeUnit.MINUTES);
        job.getJobExecutionResult().get(1, TimeUnit.MINUTES);

        assertThat(payloads(out)).isEqualTo(sorted(texts));
        for (PubsubMessage message : out) {
            String text = message.getData().toStringUtf8();
            assertThat(message.getAttributesMap()).isEqualTo(Map.of("length", "" + text.length()));
            assertThat(message.getOrderingKey()).isEqualTo(text.substring(0, 2));
        }
        assertThat(server.pull(IN_SUB, 1_000)).isEmpty();
        assertThat(server.pull(OUT_SUB, 1_000)).isEmpty();
    }
}

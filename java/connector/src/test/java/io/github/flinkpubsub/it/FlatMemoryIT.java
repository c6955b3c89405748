package io.github.flinkpubsub.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.flinkpubsub.PubSubSerializationSchema;
import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.sink.PubSubSink;
import io.github.flinkpubsub.source.PubSubSource;
import io.github.flinkpubsub.source.PubSubSubscriberOptions;
import io.github.flinkpubsub.testing.PubSubEmulator;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Ten million messages pass in either direction, and memory stays where it was. */
@Tag("soak")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class FlatMemoryIT {

    private static final int MESSAGES = 10_000_000;

    /** What may come and go: malloc's arenas, the JIT's code, the collector's tables. */
    private static final long ALLOWED_MIB = 96;

    /** Beside the heap, in MiB, one reading every million messages. */
    private static final List<Long> memory = Collections.synchronizedList(new ArrayList<>());

    private static volatile long passed;

    @BeforeEach
    void forget() {
        memory.clear();
        passed = 0;
    }

    private static PubSubEmulator server() throws Exception {
        return PubSubEmulator.start(
                "bench",
                "--payload-bytes",
                "100",
                "--attributes",
                "0",
                "--messages",
                String.valueOf(MESSAGES));
    }

    private static StreamExecutionEnvironment environment() {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(1);
        env.enableCheckpointing(500);
        return env;
    }

    private static void assertFlat() {
        assertThat(passed).isEqualTo(MESSAGES);
        // The first readings are the warm-up's.
        List<Long> later = memory.subList(3, memory.size());
        assertThat(Collections.max(later) - later.get(0))
                .as("growth of %s MiB", memory)
                .isLessThan(ALLOWED_MIB);
    }

    @Test
    void reading() throws Exception {
        try (PubSubEmulator server = server()) {
            StreamExecutionEnvironment env = environment();
            DataStream<String> texts =
                    env.fromSource(
                            PubSubSource.<String>builder()
                                    .subscription(SubscriptionDestination.of("p", "input-sub"))
                                    .deserializer(new SimpleStringSchema())
                                    .subscriberOptions(
                                            PubSubSubscriberOptions.builder()
                                                    .maxOutstandingMessages(1_000_000)
                                                    .build())
                                    .stopWhenIdle(Duration.ofSeconds(1))
                                    .emulatorEndpoint(server.endpoint())
                                    .build(),
                            WatermarkStrategy.noWatermarks(),
                            "pubsub");
            texts.map(new Watch<>()).sinkTo(new DiscardingSink<>());
            env.execute();
            assertFlat();
        }
    }

    @Test
    void writing() throws Exception {
        try (PubSubEmulator server = server()) {
            StreamExecutionEnvironment env = environment();
            String text = "x".repeat(92);
            env.fromSequence(1, MESSAGES)
                    .map(new Watch<>())
                    .map(number -> text + number)
                    .sinkTo(
                            PubSubSink.<String>builder()
                                    .topic(TopicDestination.of("p", "output"))
                                    .serializer(
                                            PubSubSerializationSchema.payload(
                                                    new SimpleStringSchema()))
                                    .emulatorEndpoint(server.endpoint())
                                    .build());
            env.execute();
            assertFlat();
            String counters =
                    HttpClient.newHttpClient()
                            .send(
                                    HttpRequest.newBuilder(
                                                    URI.create(
                                                            "http://"
                                                                    + server.control().endpoint()
                                                                    + "/counters"))
                                            .build(),
                                    HttpResponse.BodyHandlers.ofString())
                            .body();
            assertThat(counters.replaceAll("\\s", ""))
                    .contains("\"messages_published\":" + MESSAGES);
        }
    }

    /** Counts, and reads the memory from time to time. */
    private static final class Watch<T> implements MapFunction<T, T> {

        private static final long serialVersionUID = 1L;

        private long count;

        @Override
        public T map(T value) throws Exception {
            if (++count % 1_000_000 == 0) {
                memory.add(ProcessMemory.besideTheHeap());
                passed = count;
            }
            return value;
        }
    }
}

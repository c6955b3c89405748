package io.github.flinkpubsub.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.flinkpubsub.PubSubSerializationSchema;
import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.sink.PubSubSink;
import io.github.flinkpubsub.source.PubSubSource;
import io.github.flinkpubsub.testing.PubSubEmulator;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Fifty jobs, one after the other, in one session cluster: threads and memory go back to base. */
@Tag("soak")
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class SubmitAndCancelIT {

    private static final int ROUNDS = 50;
    private static final String IN = "projects/p/topics/input";
    private static final String IN_SUB = "projects/p/subscriptions/input-sub";
    private static final String OUT = "projects/p/topics/output";
    private static final String OUT_SUB = "projects/p/subscriptions/output-sub";
    private static final long TIMEOUT_MILLIS = 60_000;

    /** Clients of a job hold this much while it runs; forty leaks of it would be far above. */
    private static final long ALLOWED_MIB = 48;

    @Test
    void fiftyJobsLeaveNeitherThreadsNorMemory() throws Exception {
        try (SessionCluster cluster = SessionCluster.start(4);
                PubSubEmulator server = PubSubEmulator.start()) {
            server.createTopic(IN);
            server.createTopic(OUT);
            server.createSubscription(IN_SUB, IN);
            server.createSubscription(OUT_SUB, OUT);
            long threads = 0;
            long memory = 0;
            for (int round = 1; round <= ROUNDS; round++) {
                server.publish(IN, "m" + round);
                JobClient job = submit(cluster, server);
                server.receive(OUT_SUB, 1, TIMEOUT_MILLIS);
                job.cancel().get(1, TimeUnit.MINUTES);
                if (round == ROUNDS / 5) {
                    threads = nativeThreads();
                    System.gc();
                    memory = ProcessMemory.besideTheHeap();
                }
            }
            assertThat(nativeThreads()).isEqualTo(threads);
            long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(TIMEOUT_MILLIS);
            long grown;
            do {
                System.gc();
                grown = ProcessMemory.besideTheHeap() - memory;
            } while (grown > ALLOWED_MIB && System.nanoTime() < deadline);
            System.out.println("grown by " + grown + " MiB beside the heap from " + memory);
            assertThat(grown).as("MiB").isLessThanOrEqualTo(ALLOWED_MIB);
        }
    }

    private static JobClient submit(SessionCluster cluster, PubSubEmulator server)
            throws Exception {
        StreamExecutionEnvironment env = cluster.environment(2, new Configuration());
        env.enableCheckpointing(200);
        env.fromSource(
                        PubSubSource.<String>builder()
                                .subscription(SubscriptionDestination.parse(IN_SUB))
                                .deserializer(new SimpleStringSchema())
                                .emulatorEndpoint(server.endpoint())
                                .build(),
                        WatermarkStrategy.noWatermarks(),
                        "in")
                .sinkTo(
                        PubSubSink.<String>builder()
                                .topic(TopicDestination.parse(OUT))
                                .serializer(
                                        PubSubSerializationSchema.payload(new SimpleStringSchema()))
                                .emulatorEndpoint(server.endpoint())
                                .build());
        return env.executeAsync();
    }

    private static long nativeThreads() throws IOException {
        try (Stream<Path> tasks = Files.list(Paths.get("/proc/self/task"))) {
            return tasks.filter(
                            task -> {
                                try {
                                    return Files.readString(task.resolve("comm"))
                                            .startsWith("pubsub-native");
                                } catch (IOException e) {
                                    return false;
                                }
                            })
                    .count();
        }
    }
}

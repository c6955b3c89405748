package io.github.flinkpubsub.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.flinkpubsub.testing.PubSubEmulator;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * The example jobs as a user runs them: one uses the connector in the cluster's {@code lib} folder,
 * the other brings its own and prefers it (child-first), both in the same processes.
 */
@Tag("integration")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
@ExtendWith(ClusterExtension.class)
class ExampleJobsIT {
    private static final String EXAMPLES = "io.github.flinkpubsub.examples.";
    private static final String TOPIC = "projects/p/topics/earthquakes";
    private static final String SUBSCRIPTION = "projects/p/subscriptions/earthquakes-sub";
    private static final String CHECK = "projects/p/subscriptions/check-sub";
    private static final String RESULTS = "projects/p/topics/network-days";
    private static final String RESULTS_SUB = "projects/p/subscriptions/network-days-sub";

    @Test
    void publishAndAggregateAWeekOfEarthquakes(FlinkCluster cluster) throws Exception {
        Path file = FlinkCluster.property("data").resolve("earthquakes.csv");
        List<String> lines = Files.readAllLines(file);
        lines.remove(0);
        try (PubSubEmulator server = PubSubEmulator.start("--quiet")) {
            server.createTopic(TOPIC);
            server.createOrderedSubscription(SUBSCRIPTION, TOPIC);
            server.createSubscription(CHECK, TOPIC);
            server.createTopic(RESULTS);
            server.createSubscription(RESULTS_SUB, RESULTS);

            cluster.cli()
                    .run(
                            "-c",
                            EXAMPLES + "PublishEarthquakes",
                            FlinkCluster.property("jobs").toString(),
                            "--file",
                            file.toString(),
                            "--topic",
                            TOPIC,
                            "--emulator",
                            server.endpoint());
            assertThat(payloads(server, CHECK)).containsExactlyInAnyOrderElementsOf(lines);

            String job =
                    cluster.cli()
                            .runDetached(
                                    "-c",
                                    EXAMPLES + "DailyEarthquakes",
                                    FlinkCluster.property("bundle").toString(),
                                    "--subscription",
                                    SUBSCRIPTION,
                                    "--topic",
                                    RESULTS,
                                    "--emulator",
                                    server.endpoint());
            AlertJob.awaitAcks(server, SUBSCRIPTION);
            cluster.cli().stop("--drain", job);
            cluster.awaitStatus(job, "FINISHED");

            assertThat(earthquakesOfDays(payloads(server, RESULTS_SUB)))
                    .isEqualTo(earthquakesOfLines(lines));
        }
        cluster.awaitFreeSlots(2 * FlinkCluster.SLOTS);
    }

    private static List<String> payloads(PubSubEmulator server, String subscription) {
        int count = (int) server.control().subscription(subscription).backlog();
        return server.receive(subscription, count, FlinkCluster.LIMIT.toMillis()).stream()
                .map(message -> message.getData().toStringUtf8())
                .collect(Collectors.toList());
    }

    /** Day and network to the number that the job's results tell; a network's day comes once. */
    private static Map<String, Integer> earthquakesOfDays(List<String> results) {
        return results.stream()
                .map(result -> result.split("\t"))
                .collect(
                        Collectors.toMap(
                                fields -> fields[0] + " " + fields[1],
                                fields -> Integer.parseInt(fields[2])));
    }

    private static Map<String, Integer> earthquakesOfLines(List<String> lines) {
        Map<String, Integer> counts = new TreeMap<>();
        for (String line : lines) {
            String[] fields = line.split(",");
            counts.merge(fields[0].substring(0, 10) + " " + fields[2], 1, Integer::sum);
        }
        return counts;
    }
}

package io.github.flinkpubsub.examples;

import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.testing.PubSubEmulator;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.HeartbeatManagerOptions;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.CloseableIterator;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Publishes a file of earthquakes on the embedded server, aggregates them in a Flink job that reads
 * and writes Pub/Sub, and reads the results back. Ends with an error when the counts of what went
 * in and what came out differ.
 */
final class Demo {
    private static final String PROJECT = "demo";
    private static final TopicDestination EARTHQUAKES = TopicDestination.of(PROJECT, "earthquakes");
    private static final TopicDestination RESULTS = TopicDestination.of(PROJECT, "network-days");
    private static final SubscriptionDestination EARTHQUAKES_SUB =
            SubscriptionDestination.of(PROJECT, "earthquakes-sub");
    private static final SubscriptionDestination RESULTS_SUB =
            SubscriptionDestination.of(PROJECT, "network-days-sub");

    private static final Duration TIMEOUT = Duration.ofMinutes(1);
    private static final int SHOWN = 10;

    private Demo() {}

    /** Argument: the CSV file. */
    public static void main(String[] args) throws Exception {
        List<String> lines = Files.readAllLines(Paths.get(args[0]));
        lines.remove(0);

        try (PubSubEmulator server = PubSubEmulator.start()) {
            System.out.println("Server: " + server.endpoint());
            server.createTopic(EARTHQUAKES.path());
            server.createOrderedSubscription(EARTHQUAKES_SUB.path(), EARTHQUAKES.path());
            server.createTopic(RESULTS.path());
            server.createSubscription(RESULTS_SUB.path(), RESULTS.path());
            EarthquakeJobs jobs = new EarthquakeJobs(Connection.emulator(server.endpoint()));

            StreamExecutionEnvironment publishing = environment();
            jobs.publish(publishing, lines, EARTHQUAKES);
            publishing.execute("publish");
            System.out.printf("Published %,d earthquakes to %s%n", lines.size(), EARTHQUAKES);

            int results = aggregate(jobs, lines.size());
            List<NetworkDay> days =
                    CompletableFuture.supplyAsync(() -> read(jobs, results))
                            .get(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
            show(days);

            int counted = days.stream().mapToInt(day -> day.earthquakes).sum();
            System.out.printf(
                    "In: %d earthquakes. Out: %d days of a network, which hold %d earthquakes.%n",
                    lines.size(), days.size(), counted);
            if (counted != lines.size()) {
                System.out.println("The counts differ.");
                System.exit(1);
            }
            System.out.println("The counts agree.");
        }
    }

    /**
     * Runs the aggregating job until it has read all records, then drains it; answers the number of
     * results.
     */
    private static int aggregate(EarthquakeJobs jobs, int records) throws Exception {
        StreamExecutionEnvironment env = environment();
        jobs.aggregate(env, EARTHQUAKES_SUB, RESULTS);
        JobClient job = env.executeAsync("aggregate");

        long deadline = System.nanoTime() + TIMEOUT.toNanos();
        int consumed = 0;
        while (consumed < records) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException(
                        "Only " + consumed + " of " + records + " records were read");
            }
            TimeUnit.MILLISECONDS.sleep(200);
            int now =
                    (Integer) job.getAccumulators().get().getOrDefault(EarthquakeJobs.CONSUMED, 0);
            if (now > consumed) {
                System.out.printf("Read %,d of %,d%n", now, records);
            }
            consumed = now;
        }
        // Draining moves event time to its end: the windows that are still open give their results.
        Path savepoint = Files.createTempDirectory("demo-savepoint");
        job.stopWithSavepoint(true, savepoint.toString(), SavepointFormatType.CANONICAL)
                .get(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
        Map<String, Object> accumulators =
                job.getJobExecutionResult()
                        .get(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)
                        .getAllAccumulatorResults();
        int results = (Integer) accumulators.get(EarthquakeJobs.RESULTS);
        System.out.printf("Published %,d results to %s%n", results, RESULTS);
        return results;
    }

    /** Reads {@code count} results with another job. */
    private static List<NetworkDay> read(EarthquakeJobs jobs, int count) {
        List<NetworkDay> days = new ArrayList<>();
        try (CloseableIterator<String> payloads =
                jobs.lines(environment(), RESULTS_SUB).executeAndCollect("read")) {
            while (days.size() < count && payloads.hasNext()) {
                days.add(NetworkDay.decode(payloads.next()));
            }
        } catch (Exception e) {
            throw new IllegalStateException("Reading the results failed", e);
        }
        return days;
    }

    private static void show(List<NetworkDay> days) {
        days.sort(Comparator.comparingDouble((NetworkDay day) -> day.strongest).reversed());
        System.out.printf(
                "%-10s  %-7s  %11s  %9s  %s%n",
                "day", "network", "earthquakes", "strongest", "place");
        for (NetworkDay day : days.subList(0, Math.min(SHOWN, days.size()))) {
            System.out.printf(
                    "%-10s  %-7s  %11d  %9.1f  %s%n",
                    day.day, day.network, day.earthquakes, day.strongest, day.place);
        }
        System.out.printf("... and %d more%n", Math.max(0, days.size() - SHOWN));
    }

    private static StreamExecutionEnvironment environment() {
        // Accumulators travel with the heartbeats.
        Configuration configuration = new Configuration();
        configuration.set(HeartbeatManagerOptions.HEARTBEAT_INTERVAL, Duration.ofMillis(500));
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.createLocalEnvironment(1, configuration);
        env.enableCheckpointing(500);
        return env;
    }
}

package io.github.flinkpubsub.examples;

import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;

import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * A job that publishes an alert for every earthquake from a magnitude on, until it is stopped. It
 * keeps the number of alerts of each network in Flink's state, and can be stopped with a savepoint
 * and started from it with another parallelism:
 *
 * <pre>{@code
 * flink run -d -p 2 -Dexecution.checkpointing.interval=10s \
 *     -c io.github.flinkpubsub.examples.EarthquakeAlerts earthquakes.jar \
 *     --subscription projects/my-project/subscriptions/earthquakes-sub \
 *     --topic projects/my-project/topics/alerts --min-magnitude 4.5
 * flink stop --savepointPath /savepoints JOB
 * flink run -d -p 4 -s /savepoints/savepoint-… …
 * }</pre>
 */
public final class EarthquakeAlerts {
    private static final String USAGE =
            "EarthquakeAlerts --subscription SUBSCRIPTION --topic TOPIC [--min-magnitude 4.5]"
                    + " [--emulator HOST:PORT] [--endpoint HOST:PORT] [--key-file FILE]";

    private EarthquakeAlerts() {}

    public static void main(String[] args) throws Exception {
        Arguments arguments = new Arguments(USAGE, args);
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        new EarthquakeJobs(Connection.of(arguments))
                .alert(
                        env,
                        SubscriptionDestination.parse(arguments.get("subscription")),
                        TopicDestination.parse(arguments.get("topic")),
                        Double.parseDouble(arguments.get("min-magnitude", "4.5")));
        env.execute("earthquake alerts");
    }
}

package io.github.flinkpubsub.examples;

import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;

import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * A job that aggregates earthquakes by network and day of event time, until it is stopped:
 *
 * <pre>{@code
 * flink run -d -Dexecution.checkpointing.interval=10s \
 *     -c io.github.flinkpubsub.examples.DailyEarthquakes earthquakes.jar \
 *     --subscription projects/my-project/subscriptions/earthquakes-sub \
 *     --topic projects/my-project/topics/network-days
 * }</pre>
 */
public final class DailyEarthquakes {
    private static final String USAGE =
            "DailyEarthquakes --subscription SUBSCRIPTION --topic TOPIC"
                    + " [--emulator HOST:PORT] [--endpoint HOST:PORT] [--key-file FILE]";

    private DailyEarthquakes() {}

    public static void main(String[] args) throws Exception {
        Arguments arguments = new Arguments(USAGE, args);
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        new EarthquakeJobs(Connection.of(arguments))
                .aggregate(
                        env,
                        SubscriptionDestination.parse(arguments.get("subscription")),
                        TopicDestination.parse(arguments.get("topic")));
        env.execute("daily earthquakes");
    }
}

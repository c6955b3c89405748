package io.github.flinkpubsub.examples;

import io.github.flinkpubsub.TopicDestination;

import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.List;

/**
 * A job that publishes a file of earthquakes, ends, and by then has published every line:
 *
 * <pre>{@code
 * flink run -c io.github.flinkpubsub.examples.PublishEarthquakes earthquakes.jar \
 *     --file earthquakes.csv --topic projects/my-project/topics/earthquakes
 * }</pre>
 */
public final class PublishEarthquakes {
    private static final String USAGE =
            "PublishEarthquakes --file FILE --topic TOPIC"
                    + " [--emulator HOST:PORT] [--endpoint HOST:PORT] [--key-file FILE]";

    private PublishEarthquakes() {}

    public static void main(String[] args) throws Exception {
        Arguments arguments = new Arguments(USAGE, args);
        List<String> lines = Files.readAllLines(Paths.get(arguments.get("file")));
        lines.remove(0);

        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        new EarthquakeJobs(Connection.of(arguments))
                .publish(env, lines, TopicDestination.parse(arguments.get("topic")));
        env.execute("publish earthquakes");
    }
}

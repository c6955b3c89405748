package io.github.flinkpubsub.examples;

import io.github.flinkpubsub.PubSubSerializationSchema;
import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.sink.PubSubPublisherOptions;
import io.github.flinkpubsub.sink.PubSubSink;
import io.github.flinkpubsub.source.PubSubSource;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * The pipelines of the jobs and of the demo: lines into a topic, a topic into daily aggregates or
 * into alerts in another, and the payloads of a subscription.
 */
final class EarthquakeJobs {
    /** Accumulators of {@link #aggregate}. */
    static final String CONSUMED = "consumed";

    static final String RESULTS = "results";

    /**
     * One key for the whole feed: its records keep their order, so its event time advances as the
     * feed's does.
     */
    private static final String FEED = "usgs";

    private final Connection connection;

    EarthquakeJobs(Connection connection) {
        this.connection = connection;
    }

    /** Publishes each line, with the network as an attribute. */
    void publish(StreamExecutionEnvironment env, List<String> lines, TopicDestination topic) {
        env.fromData(lines)
                .sinkTo(
                        connection
                                .applyTo(PubSubSink.<String>builder())
                                .topic(topic)
                                .serializer(
                                        PubSubSerializationSchema.payload(new SimpleStringSchema())
                                                .withAttributes(
                                                        line ->
                                                                Map.of(
                                                                        "network",
                                                                        Earthquake.parse(line)
                                                                                .network))
                                                .withOrderingKey(line -> FEED))
                                .publisherOptions(
                                        PubSubPublisherOptions.builder()
                                                .enableMessageOrdering(true)
                                                .build())
                                .build());
    }

    /** Aggregates by network and day of the event, and publishes each aggregate. */
    void aggregate(
            StreamExecutionEnvironment env,
            SubscriptionDestination earthquakes,
            TopicDestination results) {
        lines(env, earthquakes)
                .map(new Counted<>(CONSUMED))
                .returns(String.class)
                .map(Earthquake::parse)
                .assignTimestampsAndWatermarks(
                        WatermarkStrategy.<Earthquake>forBoundedOutOfOrderness(
                                        Duration.ofMinutes(1))
                                .withTimestampAssigner(
                                        (earthquake, published) -> earthquake.timeMillis))
                .keyBy(earthquake -> earthquake.network)
                .window(TumblingEventTimeWindows.of(Duration.ofDays(1)))
                .aggregate(new DailyByNetwork(), new DailyByNetwork.Label())
                .map(NetworkDay::encode)
                .map(new Counted<>(RESULTS))
                .returns(String.class)
                .sinkTo(
                        connection
                                .applyTo(PubSubSink.<String>builder())
                                .topic(results)
                                .serializer(
                                        PubSubSerializationSchema.payload(new SimpleStringSchema()))
                                .build());
    }

    /** Publishes an alert for each earthquake from a magnitude on, in order by network. */
    void alert(
            StreamExecutionEnvironment env,
            SubscriptionDestination earthquakes,
            TopicDestination alerts,
            double minMagnitude) {
        lines(env, earthquakes)
                .map(Earthquake::parse)
                .filter(earthquake -> earthquake.magnitude >= minMagnitude)
                .keyBy(earthquake -> earthquake.network)
                .map(new NumberedAlerts())
                .uid("numbered-alerts")
                .sinkTo(
                        connection
                                .applyTo(PubSubSink.<Alert>builder())
                                .topic(alerts)
                                .serializer(new AlertSchema())
                                .publisherOptions(
                                        PubSubPublisherOptions.builder()
                                                .enableMessageOrdering(true)
                                                .build())
                                .build());
    }

    /** The payloads of a subscription as text. */
    DataStream<String> lines(StreamExecutionEnvironment env, SubscriptionDestination subscription) {
        PubSubSource<String> source =
                connection
                        .applyTo(PubSubSource.<String>builder())
                        .subscription(subscription)
                        .deserializer(new SimpleStringSchema())
                        .build();
        return env.fromSource(source, WatermarkStrategy.noWatermarks(), subscription.toString())
                .uid("earthquakes");
    }
}

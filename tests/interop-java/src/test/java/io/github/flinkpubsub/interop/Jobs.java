package io.github.flinkpubsub.interop;

import io.github.flinkpubsub.PubSubDeserializationSchema;
import io.github.flinkpubsub.PubSubMessage;
import io.github.flinkpubsub.PubSubSerializationSchema;
import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.sink.PubSubPublisherOptions;
import io.github.flinkpubsub.sink.PubSubSink;
import io.github.flinkpubsub.source.PubSubSource;
import io.github.flinkpubsub.source.PubSubSubscriberOptions;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SerializationSchema;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.Collector;

import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** The jobs under test, each on a MiniCluster of its own. */
final class Jobs {
    private static final Duration CHECKPOINT_INTERVAL = Duration.ofMillis(500);

    private Jobs() {}

    /** Starts to read a subscription. */
    static JobClient read(PubSubServer server, String subscription, Collected collected)
            throws Exception {
        StreamExecutionEnvironment env = environment(1);
        source(env, server, subscription).sinkTo(collected);
        return env.executeAsync("read");
    }

    /**
     * Publishes the first {@code count} events, equal keys from one subtask of two, and returns
     * when the job is done.
     */
    static void write(PubSubServer server, String topic, int count) throws Exception {
        StreamExecutionEnvironment env = environment(2);
        DataStream<Event> events =
                env.fromSequence(0, count - 1)
                        .setParallelism(1)
                        .map(number -> Event.numbered(number.intValue()))
                        .setParallelism(1);
        events.keyBy(event -> event.orderingKey).sinkTo(sink(server, topic));
        env.execute("write");
    }

    /** Starts to copy a subscription into a topic; restarts after a failure. */
    static JobClient copy(PubSubServer server, String subscription, String topic, FailOnce failure)
            throws Exception {
        StreamExecutionEnvironment env = environment(1);
        source(env, server, subscription).map(failure).sinkTo(sink(server, topic));
        return env.executeAsync("copy");
    }

    /** Ends a job after a last checkpoint. */
    static void stopWithSavepoint(JobClient job, Path folder) throws Exception {
        job.stopWithSavepoint(false, folder.toString(), SavepointFormatType.CANONICAL)
                .get(1, TimeUnit.MINUTES);
        job.getJobExecutionResult().get(1, TimeUnit.MINUTES);
    }

    private static StreamExecutionEnvironment environment(int parallelism) {
        Configuration configuration = new Configuration();
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "fixed-delay");
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_ATTEMPTS, 1);
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_DELAY, Duration.ZERO);
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.createLocalEnvironment(parallelism, configuration);
        env.enableCheckpointing(CHECKPOINT_INTERVAL.toMillis());
        return env;
    }

    private static DataStream<Event> source(
            StreamExecutionEnvironment env, PubSubServer server, String subscription) {
        PubSubSource<Event> source =
                PubSubSource.<Event>builder()
                        .subscription(SubscriptionDestination.parse(subscription))
                        .deserializer(new FromMessage())
                        .subscriberOptions(
                                PubSubSubscriberOptions.builder()
                                        .parallelPullCount(server.streams())
                                        .build())
                        .emulatorEndpoint(server.endpoint())
                        .build();
        return env.fromSource(source, WatermarkStrategy.noWatermarks(), "pubsub");
    }

    private static PubSubSink<Event> sink(PubSubServer server, String topic) {
        SerializationSchema<Event> payload = event -> event.data;
        return PubSubSink.<Event>builder()
                .topic(TopicDestination.parse(topic))
                .serializer(
                        PubSubSerializationSchema.payload(payload)
                                .withAttributes(event -> event.attributes)
                                .withOrderingKey(event -> event.orderingKey))
                .publisherOptions(
                        PubSubPublisherOptions.builder().enableMessageOrdering(true).build())
                .emulatorEndpoint(server.endpoint())
                .build();
    }

    /** Takes all of a message. */
    private static final class FromMessage implements PubSubDeserializationSchema<Event> {
        private static final long serialVersionUID = 1L;

        @Override
        public void deserialize(PubSubMessage message, Collector<Event> out) {
            out.collect(
                    new Event(message.payloadBytes(), message.attributes(), message.orderingKey()));
        }

        @Override
        public TypeInformation<Event> getProducedType() {
            return TypeInformation.of(Event.class);
        }
    }
}

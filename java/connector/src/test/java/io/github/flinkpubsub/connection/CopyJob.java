package io.github.flinkpubsub.connection;

import io.github.flinkpubsub.PubSubSerializationSchema;
import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.sink.PubSubSink;
import io.github.flinkpubsub.sink.PubSubSinkBuilder;
import io.github.flinkpubsub.source.PubSubSource;
import io.github.flinkpubsub.source.PubSubSourceBuilder;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

import java.time.Duration;

/** A job that copies the input to the output. */
final class CopyJob {

    private CopyJob() {}

    static PubSubSourceBuilder<String> source() {
        return PubSubSource.<String>builder()
                .subscription(SubscriptionDestination.parse(SecureServer.INPUT_SUB))
                .deserializer(new SimpleStringSchema());
    }

    /** Ends by itself when nothing has come for 3 s. */
    static PubSubSourceBuilder<String> boundedSource() {
        return source().stopWhenIdle(Duration.ofSeconds(3));
    }

    static PubSubSinkBuilder<String> sink() {
        return PubSubSink.<String>builder()
                .topic(TopicDestination.parse(SecureServer.OUTPUT))
                .serializer(PubSubSerializationSchema.payload(new SimpleStringSchema()));
    }

    static StreamExecutionEnvironment environment(Configuration configuration) {
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "none");
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.createLocalEnvironment(1, configuration);
        env.enableCheckpointing(200);
        return env;
    }

    static void build(
            StreamExecutionEnvironment env, PubSubSource<String> source, PubSubSink<String> sink) {
        DataStream<String> texts =
                env.fromSource(source, WatermarkStrategy.noWatermarks(), "pubsub");
        texts.sinkTo(sink);
    }

    static JobClient start(PubSubSource<String> source, PubSubSink<String> sink) throws Exception {
        StreamExecutionEnvironment env = environment(new Configuration());
        build(env, source, sink);
        return env.executeAsync();
    }
}

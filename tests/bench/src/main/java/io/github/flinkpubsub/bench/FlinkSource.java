package io.github.flinkpubsub.bench;

import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.source.PubSubSource;
import io.github.flinkpubsub.source.PubSubSubscriberOptions;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

import java.time.Duration;

/** A job of our source and a sink that counts, with a checkpoint a second. */
final class FlinkSource implements Contender {
    private static final Duration CHECKPOINT_INTERVAL = Duration.ofSeconds(1);

    /** Room for what arrives between two checkpoints at full speed. */
    private static final int MAX_OUTSTANDING_MESSAGES = 4_000_000;

    private static final long MAX_OUTSTANDING_BYTES = 8L << 30;

    @Override
    public void run(Run run, Meter meter) throws Exception {
        CountingSink.meter = meter;
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.setParallelism(1);
        env.enableCheckpointing(CHECKPOINT_INTERVAL.toMillis());
        PubSubSource<String> source =
                PubSubSource.<String>builder()
                        .subscription(SubscriptionDestination.parse(run.subscription()))
                        .deserializer(new SimpleStringSchema())
                        .subscriberOptions(
                                PubSubSubscriberOptions.builder()
                                        .maxOutstandingMessages(MAX_OUTSTANDING_MESSAGES)
                                        .maxOutstandingBytes(MAX_OUTSTANDING_BYTES)
                                        .build())
                        .emulatorEndpoint(run.endpoint)
                        .build();
        env.fromSource(source, WatermarkStrategy.noWatermarks(), "pubsub")
                .sinkTo(new CountingSink());
        JobClient job = env.executeAsync("bench-source");
        meter.awaitEnd();
        meter.stop();
        job.cancel().get();
    }
}

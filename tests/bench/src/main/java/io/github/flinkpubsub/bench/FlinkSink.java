package io.github.flinkpubsub.bench;

import io.github.flinkpubsub.PubSubSerializationSchema;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.sink.PubSubSink;

import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

import java.time.Duration;
import java.util.HashMap;

/** A job of a bounded sequence and our sink, with a checkpoint a second. */
final class FlinkSink implements Contender {
    private static final Duration CHECKPOINT_INTERVAL = Duration.ofSeconds(1);

    /** The meter of this process; the job runs in it, with parallelism 1. */
    private static volatile Meter meter;

    @Override
    public void run(Run run, Meter meter) throws Exception {
        FlinkSink.meter = meter;
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.setParallelism(1);
        env.enableCheckpointing(CHECKPOINT_INTERVAL.toMillis());
        PubSubSerializationSchema<String> serializer =
                PubSubSerializationSchema.payload(new SimpleStringSchema());
        if (!run.workload.attributes.isEmpty()) {
            HashMap<String, String> attributes = new HashMap<>(run.workload.attributes);
            serializer = serializer.withAttributes(element -> attributes);
        }
        env.fromSequence(1, run.messages)
                .map(new Payloads(run.workload.payloads()))
                .sinkTo(
                        PubSubSink.<String>builder()
                                .topic(TopicDestination.parse(run.topic()))
                                .serializer(serializer)
                                .publisherOptions(Run.publisherOptions())
                                .emulatorEndpoint(run.endpoint)
                                .build());
        env.execute("bench-sink");
        meter.stop();
    }

    /** Turns a number into a text and counts it. */
    private static final class Payloads implements MapFunction<Long, String> {
        private static final long serialVersionUID = 1L;

        private final String[] payloads;

        Payloads(String[] payloads) {
            this.payloads = payloads;
        }

        @Override
        public String map(Long number) {
            meter.passed(number);
            return payloads[(int) (number % payloads.length)];
        }
    }
}

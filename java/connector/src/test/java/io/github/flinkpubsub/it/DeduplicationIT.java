package io.github.flinkpubsub.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.Deduplication;
import io.github.flinkpubsub.PubSubDeserializationSchema;
import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.source.PubSubSource;
import io.github.flinkpubsub.testing.PubSubEmulator;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.StateRecoveryOptions;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Duplicates that a publisher has made, across subtasks and a restore with another parallelism. */
@Tag("integration")
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class DeduplicationIT {

    private static final String IN = "projects/p/topics/input";
    private static final String IN_SUB = "projects/p/subscriptions/input-sub";
    private static final int IDS = 100;

    private static List<PubsubMessage> messages(int from, int to) {
        List<PubsubMessage> messages = new ArrayList<>();
        for (int i = from; i < to; i++) {
            messages.add(
                    PubsubMessage.newBuilder()
                            .setData(ByteString.copyFromUtf8("m" + i))
                            .putAttributes("id", "id-" + i)
                            .build());
        }
        return messages;
    }

    private static JobClient start(PubSubEmulator server, int parallelism, String savepoint)
            throws Exception {
        Configuration configuration = new Configuration();
        if (savepoint != null) {
            configuration.set(StateRecoveryOptions.SAVEPOINT_PATH, savepoint);
        }
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.createLocalEnvironment(parallelism, configuration);
        env.enableCheckpointing(200);
        PubSubSource<Tuple2<String, String>> source =
                PubSubSource.<Tuple2<String, String>>builder()
                        .subscription(SubscriptionDestination.parse(IN_SUB))
                        .deserializer(PubSubDeserializationSchema.strings().withIdAttribute("id"))
                        .emulatorEndpoint(server.endpoint())
                        .build();
        Deduplication.byId(env.fromSource(source, WatermarkStrategy.noWatermarks(), "in").uid("in"))
                .uid("once")
                .sinkTo(new CollectingSink());
        return env.executeAsync();
    }

    private static void awaitAcked(PubSubEmulator server, int count) {
        JobTest.await(
                count + " acknowledged messages",
                () -> server.control().subscription(IN_SUB).acked() >= count);
    }

    @Test
    void everyIdPassesOnce(@TempDir Path savepoints) throws Exception {
        CollectingSink.records.clear();
        try (PubSubEmulator server = PubSubEmulator.start()) {
            server.createTopic(IN);
            server.createSubscription(IN_SUB, IN);
            server.publish(IN, messages(0, IDS));
            server.publish(IN, messages(0, IDS));
            JobClient job = start(server, 3, null);
            awaitAcked(server, 2 * IDS);
            assertThat(CollectingSink.records).hasSize(IDS);
            String savepoint = Savepoints.stop(job, savepoints);

            server.publish(IN, messages(0, IDS + 1));
            JobClient restored = start(server, 2, savepoint);
            awaitAcked(server, 3 * IDS + 1);
            restored.cancel().get();
            assertThat(CollectingSink.records).hasSize(IDS + 1).contains("m" + IDS);
            assertThat(new HashSet<>(CollectingSink.records)).hasSize(IDS + 1);
        }
    }
}

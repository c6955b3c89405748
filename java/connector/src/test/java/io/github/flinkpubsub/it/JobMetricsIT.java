package io.github.flinkpubsub.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.PubSubDeserializationSchema;
import io.github.flinkpubsub.PubSubMessage;
import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.source.DeserializationFailurePolicy;
import io.github.flinkpubsub.source.OrderingMode;
import io.github.flinkpubsub.source.PubSubSource;

import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.Metric;
import org.apache.flink.metrics.groups.OperatorMetricGroup;
import org.apache.flink.runtime.testutils.InMemoryReporter;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.Collector;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** What a metrics reporter sees of a job, while it runs and after it. */
@Tag("integration")
@Tag("flink2")
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class JobMetricsIT extends JobTest {

    private static final String TOPIC = "projects/p/topics/input";
    private static final String SUB = "projects/p/subscriptions/input-sub";

    private final InMemoryReporter reporter = InMemoryReporter.createWithRetainedMetrics();

    private void start(int parallelism, PubSubSource<String> source) throws Exception {
        Configuration configuration = new Configuration();
        reporter.addToConfiguration(configuration);
        StreamExecutionEnvironment env = environment(parallelism, configuration);
        env.fromSource(source, WatermarkStrategy.noWatermarks(), "in").sinkTo(new CollectingSink());
        job = env.executeAsync();
    }

    private static long value(Metric metric) {
        return metric instanceof Counter
                ? ((Counter) metric).getCount()
                : ((Number) ((Gauge<?>) metric).getValue()).longValue();
    }

    /** A metric of the source operator's only subtask. */
    private long ofSource(JobID job, String name) {
        OperatorMetricGroup group = reporter.findOperatorMetricGroups(job, "Source: in").get(0);
        return value(reporter.getMetricsByGroup(group).get(name));
    }

    /** A metric of the source's coordinator; -1 while there is none. */
    private long ofEnumerator(JobID job, String name) {
        return reporter.findMetric(job, "enumerator." + name).map(JobMetricsIT::value).orElse(-1L);
    }

    @Test
    void messagesWithoutARecordAndMessagesThatAreDroppedAreCounted() throws Exception {
        server.createTopic(TOPIC);
        server.createSubscription(SUB, TOPIC);
        server.publish(
                TOPIC,
                List.of(
                        PubsubMessage.newBuilder().setData(ByteString.copyFromUtf8("a")).build(),
                        PubsubMessage.newBuilder().putAttributes("only", "this").build(),
                        PubsubMessage.newBuilder()
                                .setData(ByteString.copyFromUtf8("1,2,3"))
                                .build(),
                        PubsubMessage.newBuilder()
                                .setData(ByteString.copyFrom(new byte[] {(byte) 0xff}))
                                .build()));
        start(
                1,
                PubSubSource.<String>builder()
                        .subscription(SubscriptionDestination.parse(SUB))
                        .deserializer(new Parts())
                        .deserializationFailurePolicy(DeserializationFailurePolicy.DROP)
                        .emulatorEndpoint(server.endpoint())
                        .build());
        JobID id = job.getJobID();
        awaitUnacked(SUB, 0);
        assertThat(sorted(records())).containsExactly("1", "2", "3", "a");
        stop();
        assertThat(ofSource(id, "numRecordsIn")).isEqualTo(4);
        assertThat(ofSource(id, "numRecordsOut")).isEqualTo(4);
        assertThat(ofSource(id, "numBytesIn")).isPositive();
        assertThat(ofSource(id, "numRecordsInErrors")).isEqualTo(1);
        assertThat(ofSource(id, "recordsSkipped")).isEqualTo(1);
        assertThat(ofSource(id, "messagesDropped")).isEqualTo(1);
        assertThat(ofSource(id, "messagesReceived")).isEqualTo(4);
        assertThat(ofSource(id, "acksRequested")).isEqualTo(4);
        assertThat(ofSource(id, "acksConfirmed")).isEqualTo(4);
        assertThat(ofSource(id, "outstandingMessages")).isZero();
    }

    @Test
    void theEnumeratorTellsWhoReads() throws Exception {
        server.createTopic(TOPIC);
        server.createOrderedSubscription(SUB, TOPIC);
        start(4, texts(SUB).orderingMode(OrderingMode.PER_KEY).build());
        JobID id = job.getJobID();
        await("assignment", () -> ofEnumerator(id, "assignedSplits") == 1);
        await("the others", () -> ofEnumerator(id, "unassignedReaders") == 3);
        cancel();
        assertThat(ofEnumerator(id, "assignedSplits")).isEqualTo(1);
        assertThat(ofEnumerator(id, "unassignedReaders")).isEqualTo(3);
    }

    /** Splits at commas; throws where the bytes are not UTF-8, and has no record for none. */
    private static final class Parts implements PubSubDeserializationSchema<String> {

        private static final long serialVersionUID = 1L;

        @Override
        public void deserialize(PubSubMessage message, Collector<String> out)
                throws CharacterCodingException {
            String text =
                    StandardCharsets.UTF_8
                            .newDecoder()
                            .decode(ByteBuffer.wrap(message.payloadBytes()))
                            .toString();
            for (String part : text.isEmpty() ? new String[0] : text.split(",")) {
                out.collect(part);
            }
        }

        @Override
        public TypeInformation<String> getProducedType() {
            return Types.STRING;
        }
    }
}

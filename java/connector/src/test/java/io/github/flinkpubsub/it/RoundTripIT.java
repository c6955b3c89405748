package io.github.flinkpubsub.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.OutgoingMessage;
import io.github.flinkpubsub.PubSubDeserializationSchema;
import io.github.flinkpubsub.PubSubMessage;
import io.github.flinkpubsub.PubSubSerializationSchema;
import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.sink.PubSubPublisherOptions;
import io.github.flinkpubsub.sink.PubSubSink;
import io.github.flinkpubsub.source.PubSubSource;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.Collector;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** What goes through source and sink comes out as it was. */
@Tag("integration")
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class RoundTripIT extends JobTest {

    private static final String IN = "projects/p/topics/input";
    private static final String IN_SUB = "projects/p/subscriptions/input-sub";
    private static final String OUT = "projects/p/topics/output";
    private static final String OUT_SUB = "projects/p/subscriptions/output-sub";

    /**
     * U+0000, one character of each length in UTF-8, and a pair of surrogates that is two signs.
     */
    private static final String TEXT = "a\u0000é€😀👩‍👧\u0000";

    @Test
    void textIsTheSameByteForByteBothWays() throws Exception {
        server.createTopic(IN);
        server.createTopic(OUT);
        server.createSubscription(IN_SUB, IN);
        server.createOrderedSubscription(OUT_SUB, OUT);
        PubsubMessage message =
                PubsubMessage.newBuilder()
                        .setData(ByteString.copyFromUtf8(TEXT))
                        .putAttributes("value", TEXT)
                        .putAttributes("key " + TEXT, "value")
                        .setOrderingKey("order " + TEXT)
                        .build();
        server.publish(IN, List.of(message));
        StreamExecutionEnvironment env = environment(1);
        env.fromSource(
                        PubSubSource.<String>builder()
                                .subscription(SubscriptionDestination.parse(IN_SUB))
                                .deserializer(new Lines())
                                .emulatorEndpoint(server.endpoint())
                                .build(),
                        WatermarkStrategy.noWatermarks(),
                        "in")
                .sinkTo(
                        PubSubSink.<String>builder()
                                .topic(TopicDestination.parse(OUT))
                                .serializer(new FromLines())
                                .publisherOptions(
                                        PubSubPublisherOptions.builder()
                                                .enableMessageOrdering(true)
                                                .build())
                                .emulatorEndpoint(server.endpoint())
                                .build());
        job = env.executeAsync();
        PubsubMessage out = server.receive(OUT_SUB, 1, TIMEOUT_MILLIS).get(0);
        assertThat(out.getData().toByteArray()).isEqualTo(TEXT.getBytes(StandardCharsets.UTF_8));
        assertThat(out.getAttributesMap()).isEqualTo(message.getAttributesMap());
        assertThat(out.getAttributesOrThrow("value").getBytes(StandardCharsets.UTF_8))
                .isEqualTo(TEXT.getBytes(StandardCharsets.UTF_8));
        assertThat(out.getOrderingKeyBytes()).isEqualTo(message.getOrderingKeyBytes());
        stop();
    }

    /** Payload, attributes and ordering key in lines. */
    private static final class Lines implements PubSubDeserializationSchema<String> {

        private static final long serialVersionUID = 1L;

        @Override
        public void deserialize(PubSubMessage message, Collector<String> out) {
            StringBuilder lines = new StringBuilder();
            lines.append(new String(message.payloadBytes(), StandardCharsets.UTF_8));
            lines.append('\n').append(message.orderingKey());
            message.attributes()
                    .forEach((key, value) -> lines.append('\n').append(key + '\t' + value));
            out.collect(lines.toString());
        }

        @Override
        public TypeInformation<String> getProducedType() {
            return Types.STRING;
        }
    }

    private static final class FromLines implements PubSubSerializationSchema<String> {

        private static final long serialVersionUID = 1L;

        @Override
        public boolean serialize(
                String element, SinkWriter.Context context, OutgoingMessage message) {
            String[] lines = element.split("\n");
            message.payload(lines[0].getBytes(StandardCharsets.UTF_8));
            message.orderingKey(lines[1]);
            for (int i = 2; i < lines.length; i++) {
                String[] attribute = lines[i].split("\t");
                message.attribute(attribute[0], attribute[1]);
            }
            return true;
        }
    }
}

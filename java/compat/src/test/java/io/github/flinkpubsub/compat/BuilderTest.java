package io.github.flinkpubsub.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.flinkpubsub.compat.PubSubSource.PubSubSourceBuilder;

import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.util.InstantiationUtil;
import org.junit.jupiter.api.Test;

import java.time.Duration;

class BuilderTest {

    private static PubSubSourceBuilder<String> source() {
        return PubSubSource.newBuilder()
                .withDeserializationSchema(new SimpleStringSchema())
                .withProjectName("p")
                .withSubscriptionName("orders-sub");
    }

    @Test
    void missingFieldsOfTheSourceAreNamed() {
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () ->
                                PubSubSource.newBuilder()
                                        .withDeserializationSchema(
                                                (DeserializationSchema<String>) null))
                .withMessageContaining("deserializationSchema");
        PubSubSource.ProjectNameBuilder<String> first =
                PubSubSource.newBuilder().withDeserializationSchema(new SimpleStringSchema());
        assertThatIllegalArgumentException()
                .isThrownBy(() -> first.withProjectName(null))
                .withMessageContaining("projectName");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ((PubSubSourceBuilder<String>) first).build())
                .withMessageContaining("projectName");
        PubSubSource.SubscriptionNameBuilder<String> second = first.withProjectName("p");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> second.withSubscriptionName(" "))
                .withMessageContaining("subscriptionName");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ((PubSubSourceBuilder<String>) second).build())
                .withMessageContaining("subscriptionName");
    }

    @Test
    void missingFieldsOfTheSinkAreNamed() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PubSubSink.newBuilder().withSerializationSchema(null))
                .withMessageContaining("serializationSchema");
        PubSubSink.ProjectNameBuilder<String> first =
                PubSubSink.newBuilder().withSerializationSchema(new SimpleStringSchema());
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ((PubSubSink.PubSubSinkBuilder<String>) first).build())
                .withMessageContaining("projectName");
        PubSubSink.TopicNameBuilder<String> second = first.withProjectName("p");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> second.withTopicName(null))
                .withMessageContaining("topicName");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ((PubSubSink.PubSubSinkBuilder<String>) second).build())
                .withMessageContaining("topicName");
    }

    @Test
    void numbersOutOfRangeAreNamed() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> source().withMessageRateLimit(0))
                .withMessageContaining("messagePerSecondRateLimit");
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> source().withPubSubSubscriberFactory(0, Duration.ofSeconds(15), 3))
                .withMessageContaining("maxMessagesPerPull");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> source().withPubSubSubscriberFactory(100, Duration.ZERO, 3))
                .withMessageContaining("perRequestTimeout");
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> source().withPubSubSubscriberFactory(100, Duration.ofSeconds(15), -1))
                .withMessageContaining("retries");
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () ->
                                PubSubSink.newBuilder()
                                        .withSerializationSchema(new SimpleStringSchema())
                                        .withProjectName("p")
                                        .withTopicName("orders")
                                        .withHostAndPortForEmulator("http://nowhere")
                                        .build())
                .withMessageContaining("http://nowhere");
    }

    @Test
    void whatIsBuiltTravels() throws Exception {
        PubSubSource<String> source =
                source().withCredentials(null).withPubSubSubscriberFactory(null).build();
        assertThat(InstantiationUtil.clone(source).getProducedType()).isEqualTo(Types.STRING);
        InstantiationUtil.clone(
                PubSubSink.newBuilder()
                        .withSerializationSchema(new SimpleStringSchema())
                        .withProjectName("p")
                        .withTopicName("orders")
                        .withCredentials(null)
                        .withHostAndPortForEmulator(null)
                        .build());
    }

    @Test
    void theEmulatorsFactoryOnlyDescribes() {
        PubSubSubscriberFactoryForEmulator factory =
                new PubSubSubscriberFactoryForEmulator(
                        "localhost:1", "p", "orders-sub", 3, Duration.ofSeconds(15), 100);
        assertThat(factory.settings().totalTimeout()).isEqualTo(Duration.ofMinutes(1));
        assertThatThrownBy(() -> factory.getSubscriber(EmulatorCredentials.getInstance()))
                .isInstanceOf(UnsupportedOperationException.class);
    }

    @Test
    void thereAreNoCredentialsForAnEmulator() throws Exception {
        assertThat(EmulatorCredentials.getInstance().getRequestMetadata(null)).isEmpty();
        assertThat(InstantiationUtil.clone(EmulatorCredentials.getInstance()))
                .isSameAs(EmulatorCredentials.getInstance());
    }
}

package io.github.flinkpubsub.sink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.flinkpubsub.PubSubSerializationSchema;
import io.github.flinkpubsub.TopicDestination;

import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.util.InstantiationUtil;
import org.junit.jupiter.api.Test;

class PubSubSinkBuilderTest {

    private static final TopicDestination TOPIC = TopicDestination.of("p", "top");

    private static PubSubSinkBuilder<String> withSerializer() {
        return PubSubSink.<String>builder()
                .serializer(PubSubSerializationSchema.payload(new SimpleStringSchema()));
    }

    @Test
    void aCompleteSinkIsSerializable() throws Exception {
        PubSubSink<String> sink =
                withSerializer()
                        .destinationResolver((element, context) -> TOPIC)
                        .failedMessageHandler(FailedMessageHandler.sendToDeadLetterTopic(TOPIC))
                        .build();
        assertThat(InstantiationUtil.clone(sink)).isInstanceOf(PubSubSink.class);
    }

    @Test
    void whatIsMissingIsNamed() {
        assertThatThrownBy(withSerializer()::build).hasMessageStartingWith("topic is missing");
        assertThatThrownBy(PubSubSink.<String>builder().topic(TOPIC)::build)
                .hasMessageStartingWith("serializer is missing");
    }

    @Test
    void topicAndResolverExcludeEachOther() {
        assertThatThrownBy(
                        withSerializer().topic(TOPIC).destinationResolver((e, c) -> TOPIC)::build)
                .hasMessage("topic and destinationResolver exclude each other: set one of the two");
    }

    @Test
    void settingsOfTopicsThatAreNeverCreatedAreRefused() {
        PubSubSinkBuilder<String> builder =
                withSerializer()
                        .topic(TOPIC)
                        .topicCreateOptions(TopicCreateOptions.builder().build())
                        .createDisposition(CreateDisposition.CREATE_NEVER);
        assertThatThrownBy(builder::build)
                .hasMessageStartingWith("topicCreateOptions has no meaning with createDisposition");
    }

    @Test
    void badValuesAreNamed() {
        assertThatThrownBy(() -> withSerializer().topic(null)).hasMessage("topic must not be null");
        assertThatThrownBy(() -> withSerializer().failedMessageHandler(null))
                .hasMessage("failedMessageHandler must not be null");
        assertThatThrownBy(() -> FailedMessageHandler.sendToDeadLetterTopic(null))
                .hasMessage("sendToDeadLetterTopic must not be null");
        assertThatThrownBy(
                        withSerializer().topic(TOPIC).emulatorEndpoint("h:1").quotaProject("p")
                                ::build)
                .hasMessageStartingWith("quotaProject has no meaning beside emulatorEndpoint");
    }
}

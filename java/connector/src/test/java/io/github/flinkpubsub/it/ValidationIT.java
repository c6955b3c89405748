package io.github.flinkpubsub.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.PubSubSerializationSchema;
import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.sink.FailedMessageHandler;
import io.github.flinkpubsub.sink.PubSubSink;
import io.github.flinkpubsub.sink.PubSubSinkBuilder;
import io.github.flinkpubsub.source.PubSubSource;
import io.github.flinkpubsub.source.PubSubSourceBuilder;
import io.github.flinkpubsub.testing.PubSubEmulator;

import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.concurrent.TimeUnit;

/** What source and sink find out before a job is submitted. */
@Tag("integration")
@Timeout(value = 1, unit = TimeUnit.MINUTES)
class ValidationIT {

    private static final TopicDestination TOPIC = TopicDestination.of("p", "there");
    private static final TopicDestination NOWHERE = TopicDestination.of("p", "nowhere");

    private PubSubEmulator server;

    @BeforeEach
    void startServer() throws Exception {
        server = PubSubEmulator.start();
        server.createTopic(TOPIC.path());
        server.createSubscription("projects/p/subscriptions/there-sub", TOPIC.path());
    }

    @AfterEach
    void stopServer() {
        server.close();
    }

    private PubSubSourceBuilder<String> source() {
        return PubSubSource.<String>builder()
                .deserializer(new SimpleStringSchema())
                .emulatorEndpoint(server.endpoint());
    }

    private PubSubSinkBuilder<String> sink() {
        return PubSubSink.<String>builder()
                .serializer(PubSubSerializationSchema.strings())
                .emulatorEndpoint(server.endpoint());
    }

    @Test
    void everySubscriptionThatCannotBeReadIsNamed() throws Exception {
        source().subscription(SubscriptionDestination.of("p", "there-sub"))
                .fromTopic(TOPIC)
                .build()
                .validate();
        assertThatThrownBy(
                        () ->
                                source().subscription(SubscriptionDestination.of("p", "aaa"))
                                        .subscription(SubscriptionDestination.of("p", "there-sub"))
                                        .subscription(SubscriptionDestination.of("p", "bbb"))
                                        .fromTopic(NOWHERE)
                                        .build()
                                        .validate())
                .isInstanceOf(PubSubException.class)
                .hasMessageContaining("projects/p/subscriptions/aaa does not exist")
                .hasMessageContaining("projects/p/subscriptions/bbb does not exist")
                .hasMessageContaining("projects/p/topics/nowhere, which does not exist")
                .hasMessageNotContaining("there-sub");
        assertThat(server.control().calls()).containsEntry("Seek", 0L);
        assertThat(server.control().calls().get("CreateSubscription")).isEqualTo(1);
    }

    @Test
    void everyTopicThatIsMissingIsNamed() throws Exception {
        sink().topic(TOPIC).build().validate();
        sink().destinationResolver((record, context) -> TOPIC).build().validate(TOPIC);
        assertThatThrownBy(
                        () ->
                                sink().topic(NOWHERE)
                                        .failedMessageHandler(
                                                FailedMessageHandler.sendToDeadLetterTopic(
                                                        TopicDestination.of("p", "dead")))
                                        .build()
                                        .validate(TOPIC, TopicDestination.of("p", "more")))
                .isInstanceOf(PubSubException.class)
                .hasMessageContaining("projects/p/topics/nowhere does not exist")
                .hasMessageContaining("projects/p/topics/dead does not exist")
                .hasMessageContaining("projects/p/topics/more does not exist")
                .hasMessageNotContaining("topics/there");
        assertThat(server.control().calls().get("CreateTopic")).isEqualTo(1);
    }
}

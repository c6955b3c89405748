package io.github.flinkpubsub.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.flinkpubsub.PubSubDeserializationSchema;
import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;

import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.util.InstantiationUtil;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;

class PubSubSourceBuilderTest {

    private static final SubscriptionDestination SUBSCRIPTION =
            SubscriptionDestination.of("p", "sub");

    private static PubSubSourceBuilder<String> complete() {
        return PubSubSource.<String>builder()
                .subscription(SUBSCRIPTION)
                .deserializer(new SimpleStringSchema());
    }

    @Test
    void aCompleteSourceIsSerializable() throws Exception {
        PubSubSource<String> source = InstantiationUtil.clone(complete().build());
        assertThat(source.getProducedType()).isEqualTo(Types.STRING);
        assertThat(source.getBoundedness()).isEqualTo(Boundedness.CONTINUOUS_UNBOUNDED);
    }

    @Test
    void whatIsMissingIsNamed() {
        assertThatThrownBy(
                        PubSubSource.<String>builder().deserializer(new SimpleStringSchema())
                                ::build)
                .hasMessageStartingWith("subscription is missing");
        assertThatThrownBy(PubSubSource.<String>builder().subscription(SUBSCRIPTION)::build)
                .hasMessageStartingWith("deserializer is missing");
    }

    @Test
    void aTopicIsReadThroughASubscriptionOfItsOwn() {
        TopicDestination topic = TopicDestination.of("p", "t".repeat(255));
        PubSubSourceBuilder<String> builder = complete().fromTopic(topic);
        assertThatThrownBy(() -> builder.fromTopic(topic))
                .hasMessage("fromTopic is given more than once for topic " + topic);
        SubscriptionDestination name = OwnSubscriptions.name(topic);
        assertThat(name.project()).isEqualTo("p");
        assertThat(name.subscription()).startsWith("flink-ttt").hasSizeLessThanOrEqualTo(255);
        assertThat(OwnSubscriptions.name(topic)).isNotEqualTo(name);
    }

    @Test
    void anOwnSubscriptionExpiresUnlessToldOtherwise() {
        TopicDestination topic = TopicDestination.of("p", "top");
        SubscriptionCreateOptions.Builder options =
                SubscriptionCreateOptions.builder().topic(topic).filter("a").label("b", "c");
        assertThat(options.build().orExpiration(OwnSubscriptions.EXPIRATION))
                .isEqualTo(options.expirationTtl(Duration.ofDays(1)).build());
        SubscriptionCreateOptions week = options.expirationTtl(Duration.ofDays(7)).build();
        assertThat(week.orExpiration(OwnSubscriptions.EXPIRATION)).isSameAs(week);
        SubscriptionCreateOptions never =
                SubscriptionCreateOptions.builder().topic(topic).neverExpire().build();
        assertThat(never.orExpiration(OwnSubscriptions.EXPIRATION)).isSameAs(never);
    }

    @Test
    void aRepeatedSubscriptionIsRefused() {
        String message = "subscription projects/p/subscriptions/sub is given more than once";
        assertThatThrownBy(() -> complete().subscription(SUBSCRIPTION)).hasMessage(message);
        assertThatThrownBy(
                        () ->
                                PubSubSource.builder()
                                        .subscriptions(List.of(SUBSCRIPTION, SUBSCRIPTION)))
                .hasMessage(message);
    }

    @Test
    void severalStreamsWouldBreakTheOrder() {
        PubSubSourceBuilder<String> builder =
                complete()
                        .orderingMode(OrderingMode.PER_KEY)
                        .subscriberOptions(
                                PubSubSubscriberOptions.builder().parallelPullCount(2).build());
        assertThatThrownBy(builder::build)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("parallelPullCount must be 1 with orderingMode PER_KEY");
    }

    @Test
    void badValuesAreNamed() {
        assertThatThrownBy(() -> complete().timestampAttribute(" "))
                .hasMessage("timestampAttribute must not be null or blank");
        assertThatThrownBy(() -> complete().subscription(null))
                .hasMessage("subscription must not be null");
        assertThatThrownBy(() -> complete().emulatorEndpoint("localhost"))
                .hasMessageStartingWith("emulatorEndpoint must be host:port");
        assertThatThrownBy(() -> complete().deserializer((DeserializationSchema<String>) null))
                .hasMessage("deserializer must not be null");
        assertThatThrownBy(
                        () -> complete().deserializer((PubSubDeserializationSchema<String>) null))
                .hasMessage("deserializer must not be null");
        assertThatThrownBy(
                        complete().emulatorEndpoint("localhost:1").serviceAccountKeyFile("/k")
                                ::build)
                .hasMessageStartingWith("serviceAccountKeyFile has no meaning beside");
    }
}

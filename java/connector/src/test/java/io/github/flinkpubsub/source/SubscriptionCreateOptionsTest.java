package io.github.flinkpubsub.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.flinkpubsub.TopicDestination;

import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.Map;

class SubscriptionCreateOptionsTest {

    private static final TopicDestination TOPIC = TopicDestination.of("p", "top");

    private static SubscriptionCreateOptions.Builder builder() {
        return SubscriptionCreateOptions.builder().topic(TOPIC);
    }

    private static void refused(Runnable setter, String option) {
        assertThatThrownBy(setter::run)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(option);
    }

    @Test
    void onlyWhatIsSetIsAskedFor() {
        assertThat(builder().build().toNative().asMap())
                .isEqualTo(Map.of("topic", "projects/p/topics/top"));
        assertThat(
                        builder()
                                .ackDeadline(Duration.ofSeconds(60))
                                .enableMessageOrdering(true)
                                .messageRetention(Duration.ofDays(1))
                                .retainAckedMessages(true)
                                .expirationTtl(Duration.ofDays(2))
                                .deadLetterPolicy(TopicDestination.of("p", "dead"), 7)
                                .filter("attributes:a")
                                .enableExactlyOnceDelivery(true)
                                .label("team", "data")
                                .build()
                                .toNative()
                                .asMap())
                .isEqualTo(
                        Map.ofEntries(
                                Map.entry("topic", "projects/p/topics/top"),
                                Map.entry("ack-deadline-seconds", "60"),
                                Map.entry("ordering", "true"),
                                Map.entry("message-retention-ms", "86400000"),
                                Map.entry("retain-acked-messages", "true"),
                                Map.entry("expiration-ttl-ms", "172800000"),
                                Map.entry("dead-letter-topic", "projects/p/topics/dead"),
                                Map.entry("max-delivery-attempts", "7"),
                                Map.entry("filter", "attributes:a"),
                                Map.entry("exactly-once", "true"),
                                Map.entry("label.team", "data")));
        assertThat(builder().neverExpire().build().toNative().asMap())
                .containsEntry("expiration-ttl-ms", "0");
    }

    @Test
    void rangesAreCheckedByTheSetters() {
        refused(() -> builder().ackDeadline(Duration.ofSeconds(9)), "ackDeadline");
        refused(() -> builder().ackDeadline(Duration.ofSeconds(601)), "ackDeadline");
        refused(() -> builder().ackDeadline(Duration.ofMillis(10_500)), "ackDeadline");
        refused(() -> builder().messageRetention(Duration.ofMinutes(9)), "messageRetention");
        refused(() -> builder().messageRetention(Duration.ofDays(32)), "messageRetention");
        refused(() -> builder().deadLetterPolicy(TOPIC, 4), "maxDeliveryAttempts");
        refused(() -> builder().deadLetterPolicy(TOPIC, 101), "maxDeliveryAttempts");
        refused(() -> builder().filter("x".repeat(257)), "filter");
        refused(() -> builder().filter("é".repeat(129)), "filter");
        refused(() -> builder().expirationTtl(Duration.ofHours(23)), "expirationTtl");
        refused(() -> SubscriptionCreateOptions.builder().build(), "topic");
        refused(
                () -> builder().neverExpire().expirationTtl(Duration.ofDays(1)).build(),
                "neverExpire");
        builder()
                .ackDeadline(Duration.ofSeconds(10))
                .ackDeadline(Duration.ofSeconds(600))
                .deadLetterPolicy(TOPIC, 5)
                .deadLetterPolicy(TOPIC, 100)
                .filter("x".repeat(256))
                .build();
    }
}

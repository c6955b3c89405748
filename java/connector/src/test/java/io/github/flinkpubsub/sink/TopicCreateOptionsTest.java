package io.github.flinkpubsub.sink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.flinkpubsub.nativebridge.NativeOptions;

import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.Map;

class TopicCreateOptionsTest {

    private static Map<String, String> encoded(TopicCreateOptions.Builder builder) {
        NativeOptions options = new NativeOptions();
        builder.build().addTo(options);
        return options.asMap();
    }

    @Test
    void nothingIsSetByDefault() {
        assertThat(encoded(TopicCreateOptions.builder())).isEmpty();
    }

    @Test
    void everyOptionArrives() {
        assertThat(
                        encoded(
                                TopicCreateOptions.builder()
                                        .messageRetention(Duration.ofDays(1))
                                        .kmsKeyName("projects/p/cryptoKeys/k")
                                        .allowedPersistenceRegions("europe-west1", "europe-west4")
                                        .enforceInTransit(true)
                                        .label("team", "a")
                                        .labels(Map.of("env", "test"))))
                .containsExactly(
                        Map.entry("topic.message-retention-ms", "86400000"),
                        Map.entry("topic.kms-key-name", "projects/p/cryptoKeys/k"),
                        Map.entry("topic.allowed-regions", "europe-west1,europe-west4"),
                        Map.entry("topic.enforce-in-transit", "true"),
                        Map.entry("topic.label.team", "a"),
                        Map.entry("topic.label.env", "test"));
    }

    @Test
    void retentionHasARange() {
        TopicCreateOptions.Builder builder = TopicCreateOptions.builder();
        builder.messageRetention(Duration.ofMinutes(10)).messageRetention(Duration.ofDays(31));
        assertThatThrownBy(() -> builder.messageRetention(Duration.ofMinutes(10).minusMillis(1)))
                .hasMessageStartingWith("messageRetention must be within PT10M to PT744H");
        assertThatThrownBy(() -> builder.messageRetention(Duration.ofDays(31).plusMillis(1)))
                .hasMessageStartingWith("messageRetention must be within");
    }

    @Test
    void badValuesAreNamed() {
        TopicCreateOptions.Builder builder = TopicCreateOptions.builder();
        assertThatThrownBy(() -> builder.allowedPersistenceRegions("a,b"))
                .hasMessageContaining("allowedPersistenceRegions")
                .hasMessageContaining("'a,b'");
        assertThatThrownBy(() -> builder.kmsKeyName(" "))
                .hasMessage("kmsKeyName must not be null or blank");
        assertThatThrownBy(() -> builder.label("team", null))
                .hasMessage("the value of label 'team' must not be null");
        assertThatThrownBy(builder.enforceInTransit(true)::build)
                .hasMessage("enforceInTransit has no meaning without allowedPersistenceRegions");
    }
}

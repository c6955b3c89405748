package io.github.flinkpubsub.sink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.flinkpubsub.nativebridge.NativeOptions;

import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.Map;
import java.util.function.Consumer;

class PubSubPublisherOptionsTest {

    private static Map<String, String> encoded(PubSubPublisherOptions options) {
        NativeOptions encoded = new NativeOptions();
        options.addTo(encoded);
        return encoded.asMap();
    }

    @Test
    void defaults() {
        PubSubPublisherOptions options = PubSubPublisherOptions.defaults();
        assertThat(options.batchElementCountThreshold()).isEqualTo(1_000);
        assertThat(options.batchRequestByteThreshold()).isEqualTo(1_048_576);
        assertThat(options.batchDelayThreshold()).isEqualTo(Duration.ofMillis(10));
        assertThat(options.enableMessageOrdering()).isFalse();
        assertThat(options.maxInFlightMessages()).isEqualTo(100_000);
        assertThat(options.maxInFlightBytes()).isEqualTo(67_108_864);
        assertThat(options.maxActivePublishers()).isEqualTo(1_000);
        assertThat(options.publisherIdleTimeout()).isEqualTo(Duration.ofMinutes(5));
        assertThat(options.retryInitialDelay()).isEqualTo(Duration.ofMillis(100));
        assertThat(options.retryDelayMultiplier()).isEqualTo(4);
        assertThat(options.retryMaxDelay()).isEqualTo(Duration.ofSeconds(60));
        assertThat(options.retryTotalTimeout()).isEqualTo(Duration.ofSeconds(600));
        assertThat(options.requestTimeout()).isEqualTo(Duration.ofSeconds(60));
        assertThat(options.recoveryInitialBackoff()).isEqualTo(Duration.ofMillis(500));
        assertThat(options.recoveryMaxBackoff()).isEqualTo(Duration.ofSeconds(10));
        assertThat(options.recoveryMaxAttempts()).isEqualTo(10);
        assertThat(options.compression().thresholdBytes()).isEqualTo(-1);
        assertThat(options.publishProgressTimeout()).isEqualTo(Duration.ofSeconds(600));
        assertThat(options.maxConsecutiveRejections()).isEqualTo(100);
        assertThat(options.shutdownTimeout()).isEqualTo(Duration.ofSeconds(30));
        assertThat(options.perDestinationMetrics()).isFalse();
    }

    @Test
    void everyOptionArrives() {
        PubSubPublisherOptions options =
                PubSubPublisherOptions.builder()
                        .batchElementCountThreshold(2)
                        .batchRequestByteThreshold(3)
                        .batchDelayThreshold(Duration.ofMillis(4))
                        .enableMessageOrdering(true)
                        .maxInFlightMessages(5)
                        .maxInFlightBytes(6)
                        .maxActivePublishers(7)
                        .publisherIdleTimeout(Duration.ofSeconds(8))
                        .retryInitialDelay(Duration.ofMillis(9))
                        .retryDelayMultiplier(1.5)
                        .retryMaxDelay(Duration.ofMillis(10))
                        .retryTotalTimeout(Duration.ofMillis(11))
                        .requestTimeout(Duration.ofMillis(12))
                        .recoveryInitialBackoff(Duration.ofMillis(16))
                        .recoveryMaxBackoff(Duration.ofMillis(17))
                        .recoveryMaxAttempts(18)
                        .compression(Compression.gzip(19))
                        .publishProgressTimeout(Duration.ofSeconds(13))
                        .maxConsecutiveRejections(14)
                        .shutdownTimeout(Duration.ofSeconds(15))
                        .perDestinationMetrics(true)
                        .build();
        assertThat(options.maxConsecutiveRejections()).isEqualTo(14);
        assertThat(options.shutdownTimeout()).isEqualTo(Duration.ofSeconds(15));
        assertThat(options.perDestinationMetrics()).isTrue();
        assertThat(encoded(options))
                .containsExactly(
                        Map.entry("batch-element-count", "2"),
                        Map.entry("batch-request-bytes", "3"),
                        Map.entry("batch-delay-ms", "4"),
                        Map.entry("ordering", "true"),
                        Map.entry("max-in-flight-messages", "5"),
                        Map.entry("max-in-flight-bytes", "6"),
                        Map.entry("max-active-topics", "7"),
                        Map.entry("topic-idle-timeout-ms", "8000"),
                        Map.entry("retry-initial-delay-ms", "9"),
                        Map.entry("retry-multiplier", "1.5"),
                        Map.entry("retry-max-delay-ms", "10"),
                        Map.entry("retry-total-timeout-ms", "11"),
                        Map.entry("request-timeout-ms", "12"),
                        Map.entry("recovery-initial-backoff-ms", "16"),
                        Map.entry("recovery-max-backoff-ms", "17"),
                        Map.entry("recovery-max-attempts", "18"),
                        Map.entry("progress-timeout-ms", "13000"),
                        Map.entry("compression-threshold-bytes", "19"));
    }

    @Test
    void ranges() {
        within(
                "batchElementCountThreshold",
                1,
                1_000,
                (b, v) -> b.batchElementCountThreshold(Math.toIntExact(v)));
        within(
                "batchRequestByteThreshold",
                1,
                10_000_000,
                (b, v) -> b.batchRequestByteThreshold(Math.toIntExact(v)));
        within("maxInFlightMessages", 1, 100_000_000, (b, v) -> b.maxInFlightMessages(v));
        within("maxInFlightBytes", 1, 1L << 40, (b, v) -> b.maxInFlightBytes(v));
        within(
                "maxActivePublishers",
                1,
                1_000_000,
                (b, v) -> b.maxActivePublishers(Math.toIntExact(v)));
        within(
                "maxConsecutiveRejections",
                1,
                1_000_000_000,
                (b, v) -> b.maxConsecutiveRejections(Math.toIntExact(v)));
        millis("batchDelayThreshold", 0, 3_600_000, (b, d) -> b.batchDelayThreshold(d));
        millis("publisherIdleTimeout", 1_000, 86_400_000, (b, d) -> b.publisherIdleTimeout(d));
        millis("retryInitialDelay", 1, 86_400_000, (b, d) -> b.retryInitialDelay(d));
        millis("retryMaxDelay", 1, 86_400_000, (b, d) -> b.retryMaxDelay(d));
        millis("retryTotalTimeout", 1, 86_400_000, (b, d) -> b.retryTotalTimeout(d));
        millis("requestTimeout", 1, 86_400_000, (b, d) -> b.requestTimeout(d));
        within(
                "recoveryMaxAttempts",
                1,
                1_000,
                (b, v) -> b.recoveryMaxAttempts(Math.toIntExact(v)));
        within(
                "compression",
                0,
                10_000_000,
                (b, v) -> b.compression(Compression.gzip(Math.toIntExact(v))));
        millis("recoveryInitialBackoff", 1, 86_400_000, (b, d) -> b.recoveryInitialBackoff(d));
        millis("recoveryMaxBackoff", 1, 86_400_000, (b, d) -> b.recoveryMaxBackoff(d));
        millis("publishProgressTimeout", 1_000, 86_400_000, (b, d) -> b.publishProgressTimeout(d));
        millis("shutdownTimeout", 0, 3_600_000, (b, d) -> b.shutdownTimeout(d));
    }

    @Test
    void theMultiplierIsAtLeastOne() {
        PubSubPublisherOptions.Builder builder = PubSubPublisherOptions.builder();
        builder.retryDelayMultiplier(1).retryDelayMultiplier(100);
        for (double wrong : new double[] {0.99, 100.1, Double.NaN}) {
            refused(
                    () -> builder.retryDelayMultiplier(wrong),
                    "retryDelayMultiplier must be within 1 to 100, not " + wrong);
        }
    }

    @Test
    void theFirstPauseIsNotAboveTheLongest() {
        refused(
                PubSubPublisherOptions.builder().retryInitialDelay(Duration.ofSeconds(61))::build,
                "retryInitialDelay (PT1M1S) must not be above retryMaxDelay (PT1M)");
        refused(
                PubSubPublisherOptions.builder().recoveryInitialBackoff(Duration.ofSeconds(11))
                        ::build,
                "recoveryInitialBackoff (PT11S) must not be above recoveryMaxBackoff (PT10S)");
    }

    private interface Setter<V> {
        void set(PubSubPublisherOptions.Builder builder, V value);
    }

    private static void within(String option, long lowest, long highest, Setter<Long> setter) {
        Consumer<Long> set = value -> setter.set(PubSubPublisherOptions.builder(), value);
        set.accept(lowest);
        set.accept(highest);
        String text = option + " must be within " + lowest + " to " + highest + ", not ";
        refused(() -> set.accept(lowest - 1), text + (lowest - 1));
        refused(() -> set.accept(highest + 1), text + (highest + 1));
    }

    private static void millis(String option, long lowest, long highest, Setter<Duration> setter) {
        Consumer<Duration> set = value -> setter.set(PubSubPublisherOptions.builder(), value);
        set.accept(Duration.ofMillis(lowest));
        set.accept(Duration.ofMillis(highest));
        for (Duration wrong :
                new Duration[] {
                    Duration.ofMillis(lowest).minusMillis(1),
                    Duration.ofMillis(highest).plusMillis(1)
                }) {
            refused(
                    () -> set.accept(wrong),
                    option
                            + " must be within "
                            + Duration.ofMillis(lowest)
                            + " to "
                            + Duration.ofMillis(highest)
                            + ", not "
                            + wrong);
        }
    }

    private static void refused(ThrowingCallable call, String message) {
        assertThatThrownBy(call).isInstanceOf(IllegalArgumentException.class).hasMessage(message);
    }
}

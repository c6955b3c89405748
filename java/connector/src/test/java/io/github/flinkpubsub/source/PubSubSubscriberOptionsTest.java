package io.github.flinkpubsub.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.flinkpubsub.nativebridge.NativeOptions;

import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.Map;
import java.util.function.Consumer;

class PubSubSubscriberOptionsTest {

    private static Map<String, String> encoded(PubSubSubscriberOptions options) {
        NativeOptions encoded = new NativeOptions();
        options.addTo(encoded);
        return encoded.asMap();
    }

    @Test
    void defaults() {
        PubSubSubscriberOptions options = PubSubSubscriberOptions.defaults();
        assertThat(options.maxOutstandingMessages()).isEqualTo(100_000);
        assertThat(options.maxOutstandingBytes()).isEqualTo(1_073_741_824L);
        assertThat(options.maxBufferedBytes()).isEqualTo(67_108_864L);
        assertThat(options.parallelPullCount()).isEqualTo(1);
        assertThat(options.maxAckExtensionPeriod()).isEqualTo(Duration.ofHours(1));
        assertThat(options.minDurationPerAckExtension()).isNull();
        assertThat(options.maxDurationPerAckExtension()).isNull();
        assertThat(options.awaitAckConfirmation()).isFalse();
        assertThat(options.maxRecordsPerFetch()).isEqualTo(1_000);
        assertThat(options.firstCheckpointTimeout()).isEqualTo(Duration.ofMinutes(10));
        assertThat(options.shutdownTimeout()).isEqualTo(Duration.ofSeconds(5));
        assertThat(encoded(options))
                .isEqualTo(
                        Map.of(
                                "max-outstanding-messages", "100000",
                                "max-outstanding-bytes", "1073741824",
                                "max-buffered-bytes", "67108864",
                                "parallel-pull-count", "1",
                                "max-ack-extension-period-ms", "3600000",
                                "max-records-per-fetch", "1000"));
    }

    @Test
    void everyOptionArrives() {
        PubSubSubscriberOptions options =
                PubSubSubscriberOptions.builder()
                        .maxOutstandingMessages(2)
                        .maxOutstandingBytes(3)
                        .maxBufferedBytes(4)
                        .parallelPullCount(5)
                        .maxAckExtensionPeriod(Duration.ofSeconds(60))
                        .minDurationPerAckExtension(Duration.ofSeconds(11))
                        .maxDurationPerAckExtension(Duration.ofSeconds(12))
                        .awaitAckConfirmation(true)
                        .maxRecordsPerFetch(6)
                        .firstCheckpointTimeout(Duration.ofSeconds(7))
                        .shutdownTimeout(Duration.ofSeconds(8))
                        .build();
        assertThat(options.awaitAckConfirmation()).isTrue();
        assertThat(options.firstCheckpointTimeout()).isEqualTo(Duration.ofSeconds(7));
        assertThat(options.shutdownTimeout()).isEqualTo(Duration.ofSeconds(8));
        assertThat(encoded(options))
                .isEqualTo(
                        Map.of(
                                "max-outstanding-messages", "2",
                                "max-outstanding-bytes", "3",
                                "max-buffered-bytes", "4",
                                "parallel-pull-count", "5",
                                "max-ack-extension-period-ms", "60000",
                                "min-duration-per-ack-extension-ms", "11000",
                                "max-duration-per-ack-extension-ms", "12000",
                                "max-records-per-fetch", "6"));
    }

    @Test
    void ranges() {
        within("maxOutstandingMessages", 1, 10_000_000, (b, v) -> b.maxOutstandingMessages(v));
        within("maxOutstandingBytes", 1, 1L << 40, (b, v) -> b.maxOutstandingBytes(v));
        within("maxBufferedBytes", 1, 1L << 40, (b, v) -> b.maxBufferedBytes(v));
        within("parallelPullCount", 1, 64, (b, v) -> b.parallelPullCount(Math.toIntExact(v)));
        within(
                "maxRecordsPerFetch",
                1,
                100_000,
                (b, v) -> b.maxRecordsPerFetch(Math.toIntExact(v)));
        seconds("maxAckExtensionPeriod", 10, 604_800, (b, d) -> b.maxAckExtensionPeriod(d));
        seconds("minDurationPerAckExtension", 10, 600, (b, d) -> b.minDurationPerAckExtension(d));
        seconds("maxDurationPerAckExtension", 10, 600, (b, d) -> b.maxDurationPerAckExtension(d));
        seconds("firstCheckpointTimeout", 0, 30 * 86_400, (b, d) -> b.firstCheckpointTimeout(d));
        seconds("shutdownTimeout", 0, 600, (b, d) -> b.shutdownTimeout(d));
    }

    @Test
    void nullDurationsAreNamed() {
        refused(
                () -> PubSubSubscriberOptions.builder().maxAckExtensionPeriod(null),
                "maxAckExtensionPeriod must not be null");
    }

    @Test
    void theShortestExtensionIsNotAboveTheLongest() {
        PubSubSubscriberOptions.Builder builder =
                PubSubSubscriberOptions.builder()
                        .minDurationPerAckExtension(Duration.ofSeconds(61))
                        .maxDurationPerAckExtension(Duration.ofSeconds(60));
        refused(
                builder::build,
                "minDurationPerAckExtension (PT1M1S) must not be above"
                        + " maxDurationPerAckExtension (PT1M)");
    }

    private interface Setter<V> {
        void set(PubSubSubscriberOptions.Builder builder, V value);
    }

    private static void within(String option, long lowest, long highest, Setter<Long> setter) {
        Consumer<Long> set = value -> setter.set(PubSubSubscriberOptions.builder(), value);
        set.accept(lowest);
        set.accept(highest);
        String text = option + " must be within " + lowest + " to " + highest + ", not ";
        refused(() -> set.accept(lowest - 1), text + (lowest - 1));
        refused(() -> set.accept(highest + 1), text + (highest + 1));
    }

    private static void seconds(String option, long lowest, long highest, Setter<Duration> setter) {
        Consumer<Duration> set = value -> setter.set(PubSubSubscriberOptions.builder(), value);
        set.accept(Duration.ofSeconds(lowest));
        set.accept(Duration.ofSeconds(highest));
        for (Duration wrong :
                new Duration[] {
                    Duration.ofSeconds(lowest).minusMillis(1),
                    Duration.ofSeconds(highest).plusMillis(1)
                }) {
            refused(
                    () -> set.accept(wrong),
                    option
                            + " must be within "
                            + Duration.ofSeconds(lowest)
                            + " to "
                            + Duration.ofSeconds(highest)
                            + ", not "
                            + wrong);
        }
    }

    private static void refused(ThrowingCallable call, String message) {
        assertThatThrownBy(call).isInstanceOf(IllegalArgumentException.class).hasMessage(message);
    }
}

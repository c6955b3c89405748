package io.github.flinkpubsub.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.pubsub.v1.DeleteSubscriptionRequest;
import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.source.DeserializationFailurePolicy;
import io.github.flinkpubsub.source.OrderingMode;
import io.github.flinkpubsub.source.PubSubSource;
import io.github.flinkpubsub.source.PubSubSubscriberOptions;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.util.Collector;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Event time and watermarks: one watermark a split, aligned where the job asks for it. */
@Tag("integration")
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class WatermarkIT extends JobTest {

    private static final String FAST = "projects/p/topics/fast";
    private static final String FAST_SUB = "projects/p/subscriptions/fast-sub";
    private static final String SLOW = "projects/p/topics/slow";
    private static final String SLOW_SUB = "projects/p/subscriptions/slow-sub";
    private static final String TIME = "time";

    @BeforeEach
    void createSubscriptions() {
        server.createTopic(FAST);
        server.createTopic(SLOW);
        server.createSubscription(FAST_SUB, FAST);
        server.createSubscription(SLOW_SUB, SLOW);
        Seen.all.clear();
    }

    /** A job that writes down each record with its time and the watermark before it. */
    private void start(
            int parallelism, PubSubSource<String> source, WatermarkStrategy<String> watermarks)
            throws Exception {
        StreamExecutionEnvironment env = environment(parallelism);
        env.getConfig().setAutoWatermarkInterval(20);
        DataStream<String> texts = env.fromSource(source, watermarks, "in");
        texts.process(new Watermarks()).setParallelism(1).sinkTo(new CollectingSink());
        job = env.executeAsync();
    }

    private void publish(String topic, String text, long time) {
        publish(topic, text, TIME, Long.toString(time));
    }

    private static Seen seen(String text) {
        await(text, () -> Seen.find(text) != null);
        return Seen.find(text);
    }

    /** Publishes at this time until the watermark that a record finds has come there. */
    private void awaitWatermark(String topic, long time, long watermark) {
        int[] probe = {0};
        await(
                "the watermark " + watermark,
                () -> {
                    String text = topic + probe[0]++;
                    publish(topic, text, time);
                    return seen(text).watermark == watermark;
                });
    }

    @Test
    void theSlowestSplitHoldsTheWatermark() throws Exception {
        start(
                1,
                texts(FAST_SUB, SLOW_SUB).timestampAttribute(TIME).build(),
                WatermarkStrategy.forMonotonousTimestamps());
        publish(FAST, "fast", 100_000);
        assertThat(seen("fast").time).isEqualTo(100_000);
        publish(SLOW, "slow", 5_000);
        seen("slow");
        awaitWatermark(SLOW, 5_000, 4_999);
        publish(FAST, "still", 100_000);
        assertThat(seen("still").watermark).isEqualTo(4_999);
        awaitWatermark(SLOW, 200_000, 99_999);
        assertThat(Seen.all).allMatch(record -> record.watermark <= 99_999);
    }

    @Test
    void theTimeIsThePublishTimeUnlessAnAttributeHasIt() throws Exception {
        Instant before = Instant.now().minusMillis(1);
        start(1, texts(FAST_SUB).build(), WatermarkStrategy.forMonotonousTimestamps());
        publish(FAST, List.of("now"));
        assertThat(Instant.ofEpochMilli(seen("now").time)).isBetween(before, Instant.now());
    }

    @Test
    void anUnreadableTimeFollowsThePolicy() throws Exception {
        start(
                1,
                texts(FAST_SUB)
                        .timestampAttribute(TIME)
                        .deserializationFailurePolicy(DeserializationFailurePolicy.DROP)
                        .build(),
                WatermarkStrategy.forMonotonousTimestamps());
        publish(FAST, "unreadable", TIME, "yesterday");
        publish(FAST, List.of("without"));
        publish(FAST, "millis", TIME, "1714972089123");
        publish(FAST, "text", TIME, "2024-05-06T07:08:09.123456Z");
        assertThat(seen("millis").time).isEqualTo(1_714_972_089_123L);
        assertThat(seen("text").time).isEqualTo(1_714_979_289_123L);
        // Dropped is acknowledged.
        awaitUnacked(FAST_SUB, 0);
        assertThat(sorted(records())).containsExactly("millis", "text");
        job.cancel().get(1, TimeUnit.MINUTES);

        start(
                1,
                texts(FAST_SUB).timestampAttribute(TIME).build(),
                WatermarkStrategy.forMonotonousTimestamps());
        publish(FAST, "unreadable", TIME, "yesterday");
        assertThat(failure())
                .contains("the timestamp attribute 'time' is neither RFC 3339 nor milliseconds")
                .contains("'yesterday'")
                .contains("deserializationFailurePolicy");
    }

    @Test
    void subtasksWithoutASplitDoNotHoldTheWatermark() throws Exception {
        String ordered = "projects/p/subscriptions/ordered-sub";
        server.createOrderedSubscription(ordered, FAST);
        start(
                3,
                texts(ordered).orderingMode(OrderingMode.PER_KEY).timestampAttribute(TIME).build(),
                WatermarkStrategy.forMonotonousTimestamps());
        awaitWatermark(FAST, 7_000, 6_999);
    }

    private static PubSubSubscriberOptions shortLeases() {
        return PubSubSubscriberOptions.builder()
                .maxBufferedBytes(1 << 20)
                .minDurationPerAckExtension(Duration.ofSeconds(10))
                .maxDurationPerAckExtension(Duration.ofSeconds(10))
                .build();
    }

    private static WatermarkStrategy<String> aligned() {
        return WatermarkStrategy.<String>forMonotonousTimestamps()
                .withWatermarkAlignment("all", Duration.ofSeconds(10), Duration.ofMillis(50));
    }

    /** Streams of the subscription that were opened so far. */
    private long streamsOpened(String subscription) {
        return control.requests("StreamingPull").stream()
                .filter(request -> request.resource().equals(subscription))
                .filter(request -> !request.headers().isEmpty())
                .count();
    }

    /** The fast one runs ahead, and is read no more. */
    private void runAhead() {
        publish(SLOW, "slow", 0);
        seen("slow");
        publish(FAST, "ahead", 100_000);
        seen("ahead");
    }

    /** Half a lease later the stream is replaced by one that only waits for errors. */
    private void awaitPause() {
        await("the end of the stream", () -> streamsOpened(FAST_SUB) == 2);
    }

    /** 3,000 messages of 10 kB. */
    private void publishMuch() {
        List<PubsubMessage> messages =
                Collections.nCopies(
                        100,
                        PubsubMessage.newBuilder()
                                .setData(ByteString.copyFrom(new byte[10_000]))
                                .putAttributes(TIME, "100001")
                                .build());
        for (int i = 0; i < 30; i++) {
            server.publish(FAST, messages);
        }
    }

    @Test
    void aSplitThatIsAheadIsNotReadAndLosesNothing() throws Exception {
        control.record(true);
        start(
                1,
                texts(FAST_SUB, SLOW_SUB)
                        .timestampAttribute(TIME)
                        .subscriberOptions(shortLeases())
                        .build(),
                aligned());
        runAhead();
        awaitPause();
        publishMuch();
        // The other split is read meanwhile.
        for (int i = 0; i < 100; i++) {
            publish(SLOW, "slow" + i, i);
            seen("slow" + i);
        }
        // One message is held at the most, beside the one that was read before.
        assertThat(control.subscription(FAST_SUB).delivered()).isLessThanOrEqualTo(3);
        assertThat(records()).filteredOn(text -> !text.startsWith("slow")).hasSize(1);

        publish(SLOW, "slow at last", 100_000);
        CollectingSink.await(1 + 1 + 100 + 1 + 3_000, TIMEOUT_MILLIS);
        awaitUnacked(FAST_SUB, 0);
        assertThat(records()).hasSize(1 + 1 + 100 + 1 + 3_000);
        assertThat(streamsOpened(FAST_SUB)).isEqualTo(3);
    }

    @Test
    void aSourceThatWaitsForAnotherStillFailsTheJob() throws Exception {
        control.record(true);
        StreamExecutionEnvironment env = environment(1);
        env.getConfig().setAutoWatermarkInterval(20);
        for (String subscription : List.of(FAST_SUB, SLOW_SUB)) {
            DataStream<String> texts =
                    env.fromSource(
                            texts(subscription)
                                    .timestampAttribute(TIME)
                                    .subscriberOptions(shortLeases())
                                    .build(),
                            aligned(),
                            subscription);
            texts.process(new Watermarks()).sinkTo(new CollectingSink());
        }
        job = env.executeAsync();
        runAhead();
        // The other source hears of its watermark by and by; then nothing more is read.
        int[] published = {0};
        await(
                "the end of the stream",
                () -> {
                    publish(FAST, "more" + published[0]++, 100_001);
                    return streamsOpened(FAST_SUB) == 2;
                });
        server.subscriber()
                .deleteSubscription(
                        DeleteSubscriptionRequest.newBuilder().setSubscription(FAST_SUB).build());
        // It fails, although nobody reads it.
        assertThat(failure()).contains("NOT_FOUND").contains(FAST_SUB);
        assertThat(records().size()).isLessThan(published[0]);
    }

    /** A record as it was found. */
    private static final class Seen {

        static final List<Seen> all = Collections.synchronizedList(new ArrayList<>());

        private final String text;
        private final long time;
        private final long watermark;

        Seen(String text, long time, long watermark) {
            this.text = text;
            this.time = time;
            this.watermark = watermark;
        }

        static Seen find(String text) {
            synchronized (all) {
                return all.stream()
                        .filter(record -> record.text.equals(text))
                        .findFirst()
                        .orElse(null);
            }
        }
    }

    private static final class Watermarks extends ProcessFunction<String, String> {

        private static final long serialVersionUID = 1L;

        @Override
        public void processElement(String text, Context context, Collector<String> out) {
            Seen.all.add(
                    new Seen(text, context.timestamp(), context.timerService().currentWatermark()));
            out.collect(text);
        }
    }
}

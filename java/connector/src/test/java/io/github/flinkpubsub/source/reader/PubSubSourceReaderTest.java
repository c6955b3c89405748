package io.github.flinkpubsub.source.reader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import com.google.protobuf.Timestamp;
import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.ConnectionOptions;
import io.github.flinkpubsub.PubSubDeserializationSchema;
import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.PubSubException.Status;
import io.github.flinkpubsub.PubSubMessage;
import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.nativebridge.NativeOptions;
import io.github.flinkpubsub.nativebridge.SubscriberCounter;
import io.github.flinkpubsub.source.DeserializationFailurePolicy;
import io.github.flinkpubsub.source.OrderingMode;
import io.github.flinkpubsub.source.PubSubSubscriberOptions;
import io.github.flinkpubsub.source.SourceConfig;
import io.github.flinkpubsub.source.StartPosition;
import io.github.flinkpubsub.source.StopCondition;
import io.github.flinkpubsub.source.split.PubSubSplit;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.base.source.reader.splitreader.SplitsAddition;
import org.apache.flink.connector.testutils.source.reader.TestingReaderContext;
import org.apache.flink.connector.testutils.source.reader.TestingReaderOutput;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.metrics.testutils.MetricListener;
import org.apache.flink.runtime.metrics.groups.InternalSourceReaderMetricGroup;
import org.apache.flink.util.Collector;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import javax.annotation.Nullable;

/** The reader with a scripted subscriber in place of the native one. */
@Timeout(value = 30, unit = TimeUnit.SECONDS)
class PubSubSourceReaderTest {

    private static final SubscriptionDestination SUBSCRIPTION =
            SubscriptionDestination.of("p", "sub");

    private final FakeSubscriber subscriber = new FakeSubscriber();
    private final MetricListener metrics = new MetricListener();
    private final TestingReaderContext context =
            new TestingReaderContext(
                    new Configuration(),
                    InternalSourceReaderMetricGroup.mock(metrics.getMetricGroup()));
    private final TestingReaderOutput<String> output = new TestingReaderOutput<>();
    private PubSubSourceReader<String> reader;

    @AfterEach
    void close() throws Exception {
        if (reader != null) {
            reader.close();
        }
    }

    @Nullable private StopCondition stopCondition;

    private SourceConfig config(DeserializationFailurePolicy policy, boolean await) {
        return new SourceConfig(
                List.of(SUBSCRIPTION),
                Map.of(),
                StartPosition.continueFromSubscription(),
                ConnectionOptions.builder().build(),
                PubSubSubscriberOptions.builder().awaitAckConfirmation(await).build(),
                OrderingMode.NONE,
                policy,
                null,
                stopCondition);
    }

    private void start(DeserializationFailurePolicy policy) {
        reader =
                PubSubSourceReader.create(
                        config(policy, false), new Commands(), context, subscriber, false);
        reader.start();
        reader.addSplits(List.of(new PubSubSplit(SUBSCRIPTION, 0)));
    }

    private void deliver(long first, String... payloads) {
        deliver(first, new int[payloads.length], payloads);
    }

    private void deliver(long first, int[] flags, String... payloads) {
        List<PubsubMessage> messages = new ArrayList<>();
        for (String payload : payloads) {
            messages.add(
                    PubsubMessage.newBuilder()
                            .setData(ByteString.copyFromUtf8(payload))
                            .setMessageId("id-" + payload)
                            .setPublishTime(Timestamp.newBuilder().setSeconds(3))
                            .build());
        }
        subscriber.deliver(0, first, flags, messages);
    }

    /** Polls until there are so many records. */
    private List<String> poll(int records) throws Exception {
        while (output.getEmittedRecords().size() < records) {
            if (reader.pollNext(output) == InputStatus.NOTHING_AVAILABLE) {
                reader.isAvailable().get();
            }
        }
        return new ArrayList<>(output.getEmittedRecords());
    }

    private long counter(String name) {
        return metrics.getCounter(name).orElseThrow().getCount();
    }

    @Test
    void nativeCountersAreReported() {
        start(DeserializationFailurePolicy.FAIL);
        for (SubscriberCounter counter : SubscriberCounter.values()) {
            assertThat(metrics.<Long>getGauge(counter.metricName()).orElseThrow().getValue())
                    .isEqualTo(100 + counter.ordinal());
        }
    }

    @Test
    void aRateLimitHoldsMessagesBack() throws Exception {
        reader =
                PubSubSourceReader.create(
                        config(DeserializationFailurePolicy.FAIL, false).withMessageRateLimit(20),
                        new Commands(),
                        context,
                        subscriber,
                        false);
        reader.start();
        reader.addSplits(List.of(new PubSubSplit(SUBSCRIPTION, 0)));
        String[] payloads = IntStream.range(0, 45).mapToObj(i -> "m" + i).toArray(String[]::new);
        deliver(0, payloads);
        long start = System.nanoTime();
        assertThat(poll(45)).containsExactly(payloads);
        // One second's may have been saved up; of the rest, each comes 50 ms after the one before.
        assertThat(Duration.ofNanos(System.nanoTime() - start))
                .isGreaterThanOrEqualTo(Duration.ofMillis(1_150));
        reader.snapshotState(1);
        assertThat(subscriber.calls()).contains("snapshot 1 [0] [45]");
    }

    @Test
    void acknowledgesWhatTheCheckpointHolds() throws Exception {
        start(DeserializationFailurePolicy.FAIL);
        deliver(0, "a", "b", "c");
        assertThat(poll(2)).containsExactly("a", "b");
        assertThat(reader.snapshotState(1)).isEmpty();
        assertThat(poll(3)).containsExactly("a", "b", "c");
        assertThat(reader.snapshotState(2)).isEmpty();
        reader.notifyCheckpointComplete(2);
        reader.snapshotState(3);
        assertThat(subscriber.calls())
                .containsExactly(
                        "addSplit projects/p/subscriptions/sub",
                        "snapshot 1 [0] [2]",
                        "snapshot 2 [0] [3]",
                        "complete 2",
                        "snapshot 3 [] []");
    }

    @Test
    void anAbortedCheckpointIsLeftToTheNext() throws Exception {
        start(DeserializationFailurePolicy.FAIL);
        deliver(0, "a");
        poll(1);
        reader.snapshotState(1);
        reader.notifyCheckpointAborted(1);
        reader.snapshotState(2);
        reader.notifyCheckpointComplete(2);
        assertThat(subscriber.calls())
                .endsWith("snapshot 1 [0] [1]", "snapshot 2 [] []", "complete 2");
    }

    @Test
    void waitsForConfirmationWhenToldTo() throws Exception {
        reader =
                PubSubSourceReader.create(
                        config(DeserializationFailurePolicy.FAIL, true),
                        new Commands(),
                        context,
                        subscriber,
                        false);
        subscriber.confirmAfter(1);
        reader.notifyCheckpointComplete(7);
        assertThat(subscriber.calls())
                .containsExactly("complete 7 and confirm", "confirmed?", "confirmed?");
    }

    @Test
    void skippedMessagesAndMessagesWithoutRecordsAreAcknowledged() throws Exception {
        start(DeserializationFailurePolicy.FAIL);
        deliver(0, new int[] {256, 0, 0, 256}, "held", "skip", "a", "held");
        deliver(4, "split:x,y", "b");
        assertThat(poll(4)).containsExactly("a", "x", "y", "b");
        reader.snapshotState(1);
        assertThat(subscriber.calls()).contains("snapshot 1 [0] [6]");
        assertThat(counter("recordsSkipped")).isEqualTo(1);
        assertThat(counter("messagesDropped")).isZero();
        assertThat(counter("numRecordsInErrors")).isZero();
    }

    @Test
    void failNamesThePosition() throws Exception {
        start(DeserializationFailurePolicy.FAIL);
        deliver(0, "a", "throw", "b");
        assertThatThrownBy(() -> poll(2))
                .isInstanceOf(PubSubException.class)
                .hasMessageContaining(
                        "message id-throw of projects/p/subscriptions/sub, published at"
                                + " 1970-01-01T00:00:03Z, cannot be deserialized:"
                                + " java.lang.IllegalArgumentException: not a command")
                .hasCauseInstanceOf(IllegalArgumentException.class);
        reader.snapshotState(1);
        assertThat(subscriber.calls()).endsWith("snapshot 1 [0] [1]");
    }

    @Test
    void dropGoesOnAndAcknowledges() throws Exception {
        start(DeserializationFailurePolicy.DROP);
        deliver(0, "throw", "a", "throw", "b");
        assertThat(poll(2)).containsExactly("a", "b");
        reader.snapshotState(1);
        assertThat(subscriber.calls()).endsWith("snapshot 1 [0] [4]");
        assertThat(counter("numRecordsInErrors")).isEqualTo(2);
        assertThat(counter("messagesDropped")).isEqualTo(2);
    }

    @Test
    void nackGivesBackOneMessage() throws Exception {
        start(DeserializationFailurePolicy.NACK);
        deliver(10, "a", "throw", "b");
        assertThat(poll(2)).containsExactly("a", "b");
        reader.snapshotState(1);
        assertThat(subscriber.calls()).endsWith("nack 0 11", "snapshot 1 [0] [13]");
    }

    @Test
    void whatAnOperatorThrowsIsNotTheSchemas() throws Exception {
        start(DeserializationFailurePolicy.DROP);
        deliver(0, "a");
        IllegalStateException thrown = new IllegalStateException("thrown downstream");
        TestingReaderOutput<String> broken = throwing(thrown);
        assertThatThrownBy(
                        () -> {
                            while (true) {
                                reader.pollNext(broken);
                            }
                        })
                .isSameAs(thrown);
    }

    @Test
    void notEvenWhenTheSchemaHidesIt() throws Exception {
        start(DeserializationFailurePolicy.DROP);
        deliver(0, "hide");
        IllegalStateException thrown = new IllegalStateException("thrown downstream");
        TestingReaderOutput<String> broken = throwing(thrown);
        assertThatThrownBy(
                        () -> {
                            while (true) {
                                reader.pollNext(broken);
                            }
                        })
                .isSameAs(thrown);
    }

    private static TestingReaderOutput<String> throwing(RuntimeException thrown) {
        return new TestingReaderOutput<>() {
            @Override
            public void collect(String record, long timestamp) {
                throw thrown;
            }
        };
    }

    @Test
    void aFailureOfTheSubscriberFailsTheReader() throws Exception {
        start(DeserializationFailurePolicy.FAIL);
        subscriber.fail(
                new PubSubException(Status.NOT_FOUND, "projects/p/subscriptions/sub", "gone"));
        assertThatThrownBy(() -> poll(1))
                .hasRootCauseInstanceOf(PubSubException.class)
                .hasRootCauseMessage("NOT_FOUND: gone [projects/p/subscriptions/sub]");
    }

    @Test
    void pausesAndResumesSplits() throws Exception {
        start(DeserializationFailurePolicy.FAIL);
        deliver(0, "a");
        poll(1);
        String id = new PubSubSplit(SUBSCRIPTION, 0).splitId();
        reader.pauseOrResumeSplits(List.of(id), List.of());
        reader.pauseOrResumeSplits(List.of(), List.of(id));
        deliver(1, "b");
        poll(2);
        assertThat(subscriber.calls())
                .containsExactly("addSplit projects/p/subscriptions/sub", "pause 0", "resume 0");
    }

    /** Flink goes on pausing a split that has ended until it has taken the news of it. */
    @Test
    void aSplitThatHasEndedIsNotPaused() throws Exception {
        PubSubSplitReader fetching =
                new PubSubSplitReader(
                        subscriber,
                        new BatchPool(10, new EmissionProgress()),
                        new FirstCheckpointWatch(Duration.ZERO),
                        new SourceMetrics(context.metricGroup(), subscriber),
                        StopCondition.whenIdle(Duration.ZERO));
        PubSubSplit split = new PubSubSplit(SUBSCRIPTION, 0);
        fetching.handleSplitsChanges(new SplitsAddition<>(List.of(split)));
        assertThat(fetching.fetch().finishedSplits()).containsExactly(split.splitId());
        fetching.pauseOrResumeSplits(List.of(split), List.of());
        fetching.pauseOrResumeSplits(List.of(), List.of(split));
        assertThat(subscriber.calls())
                .containsExactly("addSplit projects/p/subscriptions/sub", "removeSplit 0");
    }

    @Test
    void closesTheSubscriberOnce() throws Exception {
        start(DeserializationFailurePolicy.FAIL);
        deliver(0, "a");
        poll(1);
        reader.close();
        reader = null;
        assertThat(subscriber.calls()).endsWith("close").containsOnlyOnce("close");
    }

    @Test
    void optionsOfTheNativeClient() {
        NativeOptions options =
                PubSubSourceReader.nativeOptions(config(DeserializationFailurePolicy.FAIL, false));
        assertThat(options.asMap())
                .containsEntry("ordering", "none")
                .containsEntry("max-records-per-fetch", "1000")
                .hasEntrySatisfying(
                        "client-id-prefix",
                        prefix -> assertThat(prefix).matches("flink-[0-9a-f-]{36}"));
    }

    /**
     * "throw" throws, "skip" has no record, "split:" has many, "hide" hides what collect throws.
     */
    private static final class Commands implements PubSubDeserializationSchema<String> {

        private static final long serialVersionUID = 1L;

        @Override
        public void deserialize(PubSubMessage message, Collector<String> out) {
            String text = new String(message.payloadBytes(), StandardCharsets.UTF_8);
            if (text.equals("throw")) {
                throw new IllegalArgumentException("not a command");
            } else if (text.startsWith("split:")) {
                for (String part : text.substring(6).split(",")) {
                    out.collect(part);
                }
            } else if (text.equals("hide")) {
                try {
                    out.collect(text);
                } catch (RuntimeException e) {
                    throw new IllegalArgumentException("the schema's own words");
                }
            } else if (!text.equals("skip")) {
                out.collect(text);
            }
        }

        @Override
        public TypeInformation<String> getProducedType() {
            return Types.STRING;
        }
    }

    @Test
    void whatIsPublishedAfterTheEndIsLeftAlone() throws Exception {
        stopCondition = StopCondition.at(Instant.ofEpochSecond(3));
        start(DeserializationFailurePolicy.FAIL);
        deliver(0, "late");
        while (!subscriber.calls().contains("leave 0 0")) {
            if (reader.pollNext(output) == InputStatus.NOTHING_AVAILABLE) {
                reader.isAvailable().get();
            }
        }
        assertThat(output.getEmittedRecords()).isEmpty();
        reader.snapshotState(1);
        assertThat(subscriber.calls()).endsWith("snapshot 1 [0] [1]");
    }

    @Test
    void silenceEndsABoundedReader() throws Exception {
        stopCondition = StopCondition.whenIdle(Duration.ofMillis(1));
        start(DeserializationFailurePolicy.FAIL);
        reader.notifyNoMoreSplits();
        deliver(0, "a");
        InputStatus status = InputStatus.MORE_AVAILABLE;
        while (status != InputStatus.END_OF_INPUT) {
            status = reader.pollNext(output);
            if (status == InputStatus.NOTHING_AVAILABLE) {
                reader.isAvailable().get();
            }
        }
        assertThat(output.getEmittedRecords()).containsExactly("a");
        assertThat(subscriber.calls()).contains("removeSplit 0");
        // What was emitted is still acknowledged by the last checkpoint.
        reader.snapshotState(1);
        reader.notifyCheckpointComplete(1);
        assertThat(subscriber.calls()).endsWith("snapshot 1 [0] [1]", "complete 1");
    }

    @Test
    void batchExecutionAcknowledgesAtTheEndAndOnlyThere() throws Exception {
        stopCondition = StopCondition.whenIdle(Duration.ofMillis(1));
        for (boolean toTheEnd : new boolean[] {false, true}) {
            FakeSubscriber subscriber = new FakeSubscriber();
            reader =
                    PubSubSourceReader.create(
                            config(DeserializationFailurePolicy.FAIL, false),
                            new Commands(),
                            context,
                            subscriber,
                            true);
            reader.start();
            reader.addSplits(List.of(new PubSubSplit(SUBSCRIPTION, 0)));
            reader.notifyNoMoreSplits();
            InputStatus status = InputStatus.MORE_AVAILABLE;
            while (toTheEnd && status != InputStatus.END_OF_INPUT) {
                status = reader.pollNext(output);
                if (status == InputStatus.NOTHING_AVAILABLE) {
                    reader.isAvailable().get();
                }
            }
            reader.close();
            reader = null;
            assertThat(subscriber.calls().contains("complete " + Long.MAX_VALUE))
                    .isEqualTo(toTheEnd);
        }
    }
}

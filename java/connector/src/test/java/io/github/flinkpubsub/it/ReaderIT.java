package io.github.flinkpubsub.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.flinkpubsub.PubSubDeserializationSchema;
import io.github.flinkpubsub.PubSubMessage;
import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.source.DeserializationFailurePolicy;
import io.github.flinkpubsub.source.PubSubSource;
import io.github.flinkpubsub.source.PubSubSubscriberOptions;
import io.github.flinkpubsub.source.split.PubSubSplit;
import io.github.flinkpubsub.testing.Fault;
import io.github.flinkpubsub.testing.FaultAction;
import io.grpc.Status.Code;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.util.Collector;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A single reader whose checkpoints the test makes, aborts, loses and reports late. */
@Tag("integration")
@Tag("flink2")
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class ReaderIT extends JobTest {

    private static final String TOPIC = "projects/p/topics/input";
    private static final String SUB = "projects/p/subscriptions/input-sub";
    private static final PubSubSplit SPLIT = new PubSubSplit(SubscriptionDestination.parse(SUB), 0);

    private final List<ReaderOnServer> readers = new ArrayList<>();

    @BeforeEach
    void createSubscription() {
        server.createTopic(TOPIC);
        server.createSubscription(SUB, TOPIC);
        control.record(true);
    }

    @AfterEach
    void closeReaders() throws Exception {
        for (ReaderOnServer reader : readers) {
            reader.close();
        }
    }

    private ReaderOnServer start(PubSubSource<String> source) throws Exception {
        ReaderOnServer reader = new ReaderOnServer(source, SPLIT);
        readers.add(reader);
        return reader;
    }

    private ReaderOnServer start() throws Exception {
        return start(texts(SUB).build());
    }

    @Test
    void theGaugeOfNativeMemoryCountsWhatIsBufferedAndFallsWhenItIsGivenBack() throws Exception {
        ReaderOnServer reader = start();
        long before = reader.metric("nativeMemoryBytes");
        assertThat(before).isPositive();
        // Flink's queue takes two batches and the fetcher one, on the heap; the rest stays native.
        for (int i = 1; i <= 3; i++) {
            int received = i;
            server.publish(TOPIC, "small");
            await("a batch", () -> reader.metric("messagesReceived") == received);
            await("its fetch", () -> reader.metric("bufferedMessages") == 0);
        }
        for (int i = 0; i < 16; i++) {
            server.publish(TOPIC, "x".repeat(1_000_000));
        }
        await("all is buffered", () -> reader.metric("bufferedMessages") == 16);
        assertThat(reader.metric("nativeMemoryBytes") - before).isBetween(16_000_000L, 64_000_000L);
        reader.close();
        await("it is freed", () -> reader.metric("nativeMemoryBytes") - before < 4_000_000);
    }

    private long acked() {
        return control.subscription(SUB).acked();
    }

    @Test
    void nothingIsAckedBeforeACheckpointCompletesAndAnAbortedOneIsLeftToTheNext() throws Exception {
        ReaderOnServer reader = start();
        publish(TOPIC, numbered(0, 10));
        reader.poll(10);
        reader.reader().snapshotState(1);
        reader.reader().notifyCheckpointAborted(1);
        publish(TOPIC, numbered(10, 15));
        reader.poll(15);
        reader.reader().snapshotState(2);
        assertThat(control.requests("Acknowledge")).isEmpty();
        reader.reader().notifyCheckpointComplete(2);
        awaitUnacked(SUB, 0);
        assertThat(reader.metric("pendingCheckpoints")).isZero();
    }

    @Test
    void aSubsumedAndALostCheckpointAreLeftToTheNextAndALateOneChangesNothing() throws Exception {
        ReaderOnServer reader = start();
        for (int checkpoint = 1; checkpoint <= 4; checkpoint++) {
            publish(TOPIC, numbered(10 * checkpoint, 10 * checkpoint + 10));
            reader.poll(10 * checkpoint);
            reader.reader().snapshotState(checkpoint);
        }
        assertThat(reader.metric("pendingCheckpoints")).isEqualTo(4);
        // The news of the first two is lost, or comes after that of the third.
        reader.reader().notifyCheckpointComplete(3);
        awaitUnacked(SUB, 10);
        reader.reader().notifyCheckpointComplete(1);
        reader.reader().notifyCheckpointComplete(2);
        await("the answers", () -> reader.metric("acksConfirmed") == 30);
        assertThat(reader.metric("acksRequested")).isEqualTo(30);
        assertThat(acked()).isEqualTo(30);
        assertThat(reader.metric("pendingCheckpoints")).isEqualTo(1);
        reader.reader().notifyCheckpointComplete(4);
        awaitUnacked(SUB, 0);
        assertThat(control.requests("Acknowledge").stream().mapToInt(r -> r.ackIds().size()).sum())
                .isEqualTo(40);
    }

    @Test
    void whereverAReaderFailsNothingIsLost() throws Exception {
        publish(TOPIC, numbered(0, 10));
        // Before anything is emitted.
        ReaderOnServer reader = start();
        ReaderOnServer first = reader;
        await("delivery", () -> first.metric("messagesReceived") == 10);
        reader.close();
        assertThat(control.subscription(SUB).backlog()).isEqualTo(10);
        // After the emission.
        reader = start();
        reader.poll(10);
        reader.close();
        assertThat(control.subscription(SUB).backlog()).isEqualTo(10);
        // Between the checkpoint and the news of it.
        reader = start();
        reader.poll(10);
        reader.reader().snapshotState(1);
        reader.close();
        assertThat(control.subscription(SUB).backlog()).isEqualTo(10);
        assertThat(acked()).isZero();
        // While it acks: the request is lost, and made again before the close ends.
        reader = start();
        assertThat(sorted(reader.poll(10))).isEqualTo(sorted(numbered(0, 10)));
        control.addFault(Fault.on("Acknowledge", FaultAction.drop()).times(1));
        publish(TOPIC, List.of("not covered"));
        reader.checkpoint(2);
        reader.poll(11);
        reader.close();
        assertThat(acked()).isEqualTo(10);
        assertThat(control.subscription(SUB).backlog()).isEqualTo(1);
        reader = start();
        assertThat(reader.poll(1)).containsExactly("not covered");
    }

    @Test
    void whatWasEmittedBeforeTheLastSplitEndedIsStillAcked() throws Exception {
        publish(TOPIC, numbered(0, 10));
        ReaderOnServer reader = start(texts(SUB).stopWhenIdle(Duration.ofSeconds(1)).build());
        reader.reader().notifyNoMoreSplits();
        InputStatus status = InputStatus.MORE_AVAILABLE;
        while (status != InputStatus.END_OF_INPUT) {
            status = reader.pollOnce();
        }
        await("the stream's end", () -> control.subscription(SUB).streams() == 0);
        assertThat(reader.poll(10)).hasSize(10);
        assertThat(acked()).isZero();
        reader.checkpoint(1);
        awaitUnacked(SUB, 0);
    }

    @Test
    void aRunningReaderTakesAnotherSplit() throws Exception {
        String other = "projects/p/topics/other";
        String otherSub = "projects/p/subscriptions/other-sub";
        server.createTopic(other);
        server.createSubscription(otherSub, other);
        ReaderOnServer reader = start(texts(SUB, otherSub).build());
        publish(TOPIC, List.of("one"));
        reader.poll(1);
        publish(other, List.of("two"));
        reader.reader()
                .addSplits(List.of(new PubSubSplit(SubscriptionDestination.parse(otherSub), 0)));
        reader.poll(2);
        publish(TOPIC, List.of("three"));
        assertThat(reader.poll(3)).containsExactly("one", "two", "three");
        reader.checkpoint(1);
        awaitUnacked(SUB, 0);
        awaitUnacked(otherSub, 0);
    }

    @Test
    void closingKeepsItsTimeForAllSplitsTogetherWhenNothingAnswers() throws Exception {
        String other = "projects/p/subscriptions/other-sub";
        server.createSubscription(other, TOPIC);
        Duration bound = Duration.ofSeconds(1);
        ReaderOnServer reader =
                start(
                        texts(SUB, other)
                                .subscriberOptions(
                                        PubSubSubscriberOptions.builder()
                                                .shutdownTimeout(bound)
                                                .build())
                                .build());
        reader.reader()
                .addSplits(List.of(new PubSubSplit(SubscriptionDestination.parse(other), 0)));
        publish(TOPIC, numbered(0, 10));
        reader.poll(20);
        control.addFault(Fault.on("*", FaultAction.silence()));
        reader.checkpoint(1);
        control.closeStreams(null, FaultAction.silence());
        long start = System.nanoTime();
        reader.close();
        Duration took = Duration.ofNanos(System.nanoTime() - start);
        assertThat(took).isBetween(bound, bound.plusSeconds(2));
        assertThat(reader.metric("acksFailed")).isEqualTo(20);
        assertThat(reader.metric("outstandingMessages")).isZero();
    }

    @Test
    void everyMetricHasItsValueAlsoAfterTheClose() throws Exception {
        Duration lease = Duration.ofSeconds(10);
        ReaderOnServer reader =
                start(
                        PubSubSource.<String>builder()
                                .subscription(SubscriptionDestination.parse(SUB))
                                .deserializer(new Picky())
                                .deserializationFailurePolicy(DeserializationFailurePolicy.DROP)
                                .subscriberOptions(
                                        PubSubSubscriberOptions.builder()
                                                .minDurationPerAckExtension(lease)
                                                .maxDurationPerAckExtension(lease)
                                                .maxAckExtensionPeriod(Duration.ofSeconds(19))
                                                .build())
                                .emulatorEndpoint(server.endpoint())
                                .build());
        List<String> ids = server.publish(TOPIC, "a", "b", "skip", "bad");
        reader.pollUntil(
                "all four",
                () -> reader.metric("messagesDropped") + reader.metric("recordsSkipped") == 2);
        reader.poll(2);
        assertThat(reader.metric("messagesReceived")).isEqualTo(4);
        assertThat(reader.metric("recordsSkipped")).isEqualTo(1);
        assertThat(reader.metric("messagesDropped")).isEqualTo(1);
        assertThat(reader.metric("numRecordsInErrors")).isEqualTo(1);
        assertThat(reader.recordsIn()).isEqualTo(4);
        assertThat(reader.metric("outstandingMessages")).isEqualTo(4);
        assertThat(reader.metric("outstandingBytes")).isEqualTo(reader.bytesIn()).isPositive();
        assertThat(reader.metric("bufferedMessages")).isZero();
        assertThat(reader.metric("bufferedBytes")).isZero();
        assertThat(reader.metric("currentFetchEventTimeLag")).isBetween(0L, 60_000L);

        control.redeliver(SUB, ids.get(0));
        reader.pollUntil("the redelivery", () -> reader.metric("redeliveries") == 1);
        assertThat(reader.metric("messagesReceived")).isEqualTo(5);
        assertThat(reader.metric("bufferedMessages")).isZero();
        assertThat(reader.metric("outstandingMessages")).isEqualTo(4);
        reader.reader().snapshotState(1);
        assertThat(reader.metric("pendingCheckpoints")).isEqualTo(1);
        reader.reader().notifyCheckpointComplete(1);
        await("the answers", () -> reader.metric("acksConfirmed") == 4);
        assertThat(reader.metric("acksRequested")).isEqualTo(4);
        assertThat(reader.metric("pendingCheckpoints")).isZero();
        assertThat(reader.metric("outstandingMessages")).isZero();
        assertThat(reader.metric("outstandingBytes")).isZero();
        assertThat(acked()).isEqualTo(4);

        control.closeStreams(SUB, FaultAction.status(Code.UNAVAILABLE, "on purpose"));
        await("a new stream", () -> reader.metric("streamReconnects") == 1);
        long start = System.nanoTime();
        publish(TOPIC, List.of("c"));
        assertThat(reader.poll(3)).last().isEqualTo("c");
        // The server's time stands still, so that its leases end when the test says so.
        control.stopClock();
        await("the extension", () -> reader.metric("leaseExtensions") == 1);
        await("the ceiling", () -> reader.metric("leasesExpired") == 1);
        assertThat((System.nanoTime() - start) / 1e9).isCloseTo(17, within(3.0));
        control.advance(Duration.ofSeconds(20));
        reader.poll(4);
        assertThat(reader.metric("messagesReceived")).isEqualTo(7);
        assertThat(reader.metric("redeliveries")).isEqualTo(1);

        publish(TOPIC, List.of("d"));
        reader.poll(5);
        control.addFault(
                Fault.on("Acknowledge", FaultAction.status(Code.INVALID_ARGUMENT, "on purpose"))
                        .times(1));
        reader.checkpoint(2);
        await("the refusal", () -> reader.metric("acksFailed") == 2);
        assertThat(reader.metric("acksRequested")).isEqualTo(6);
        await("their end", () -> reader.metric("outstandingMessages") == 0);

        // Flink's queue holds two batches and the fetcher one; what comes then stays in the buffer.
        for (int i = 0; i < 5; i++) {
            publish(TOPIC, List.of("e" + i));
            long held = i + 1;
            long buffered = Math.max(0, i - 2);
            await(
                    held + " messages, " + buffered + " of them in the buffer",
                    () ->
                            reader.metric("outstandingMessages") == held
                                    && reader.metric("bufferedMessages") == buffered);
        }
        assertThat(reader.metric("bufferedBytes"))
                .isBetween(1L, reader.metric("outstandingBytes") * 2);
        assertThat(reader.metric("messagesReceived")).isEqualTo(13);
        reader.close();
        assertThat(reader.metric("messagesNacked")).isEqualTo(5);
        assertThat(reader.metric("outstandingMessages")).isZero();
        assertThat(reader.metric("outstandingBytes")).isZero();
        assertThat(reader.metric("bufferedMessages")).isZero();
        assertThat(reader.metric("bufferedBytes")).isZero();
        assertThat(reader.metric("messagesReceived")).isEqualTo(13);
        assertThat(reader.metric("acksRequested")).isEqualTo(6);
        assertThat(reader.metric("acksConfirmed")).isEqualTo(4);
        assertThat(reader.metric("acksFailed")).isEqualTo(2);
        assertThat(reader.metric("streamReconnects")).isEqualTo(1);
        assertThat(reader.metric("leaseExtensions")).isEqualTo(1);
        assertThat(reader.metric("leasesExpired")).isEqualTo(1);
        assertThat(reader.metric("recordsSkipped")).isEqualTo(1);
        assertThat(reader.metric("messagesDropped")).isEqualTo(1);
    }

    /** Passes over "skip", throws at "bad". */
    private static final class Picky implements PubSubDeserializationSchema<String> {

        private static final long serialVersionUID = 1L;

        @Override
        public void deserialize(PubSubMessage message, Collector<String> out) {
            String text = new String(message.payloadBytes(), StandardCharsets.UTF_8);
            if (text.equals("bad")) {
                throw new IllegalArgumentException(text);
            }
            if (!text.equals("skip")) {
                out.collect(text);
            }
        }

        @Override
        public TypeInformation<String> getProducedType() {
            return Types.STRING;
        }
    }
}

package io.github.flinkpubsub.sink.writer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.ConnectionOptions;
import io.github.flinkpubsub.OutgoingMessage;
import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.PubSubException.Status;
import io.github.flinkpubsub.PubSubSerializationSchema;
import io.github.flinkpubsub.ReferencePage;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.nativebridge.NativeOptions;
import io.github.flinkpubsub.sink.CreateDisposition;
import io.github.flinkpubsub.sink.DestinationResolver;
import io.github.flinkpubsub.sink.FailedMessage;
import io.github.flinkpubsub.sink.FailedMessageHandler;
import io.github.flinkpubsub.sink.PubSubPublisherOptions;
import io.github.flinkpubsub.sink.SinkConfig;
import io.github.flinkpubsub.sink.TopicCreateOptions;

import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.metrics.Metric;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** The writer with a scripted publisher in place of the native one. */
@Timeout(value = 30, unit = TimeUnit.SECONDS)
class PubSubWriterTest {

    private static final TopicDestination TOPIC = TopicDestination.of("p", "top");
    private static final TopicDestination LETTERS = TopicDestination.of("p", "letters");

    private static final SinkWriter.Context CONTEXT =
            new SinkWriter.Context() {
                @Override
                public long currentWatermark() {
                    return 1;
                }

                @Override
                public Long timestamp() {
                    return 42L;
                }
            };

    private final TestWriterContext context = new TestWriterContext();
    private final List<FailedMessage> failed = new ArrayList<>();
    private FakePublisher publisher = new FakePublisher(true);
    private FakePublisher letters = new FakePublisher(true);
    private int lettersOpened;
    private PubSubPublisherOptions.Builder options =
            PubSubPublisherOptions.builder().batchElementCountThreshold(3);
    private PubSubSerializationSchema<String> serializer = PubSubWriterTest::serialize;
    private DestinationResolver<String> destination = (element, context) -> TOPIC;
    private FailedMessageHandler handler = FailedMessageHandler.failJob();
    private PubSubWriter<String> writer;

    /** "null" and "throw" fail, "skip" is skipped, "key:k" has a key, "goog" is not legal. */
    private static boolean serialize(
            String element, SinkWriter.Context context, OutgoingMessage message) {
        if (element.equals("throw")) {
            throw new IllegalStateException("a serializer's failure");
        }
        if (element.equals("skip")) {
            return false;
        }
        message.payload(element.equals("null") ? null : element.getBytes(StandardCharsets.UTF_8));
        if (element.startsWith("key:")) {
            message.orderingKey(element.substring(4));
        }
        if (element.equals("goog")) {
            message.attribute("google", "v").attribute("fine", "w");
        }
        return true;
    }

    private void open() {
        writer =
                PubSubWriter.create(
                        new SinkConfig<>(
                                destination,
                                serializer,
                                CreateDisposition.CREATE_NEVER,
                                TopicCreateOptions.builder().build(),
                                handler,
                                options.build(),
                                ConnectionOptions.builder().build()),
                        context,
                        publisher,
                        () -> {
                            lettersOpened++;
                            return letters;
                        });
    }

    private void write(String... elements) throws Exception {
        for (String element : elements) {
            writer.write(element, CONTEXT);
        }
    }

    private void collectFailures() {
        handler = (message, context) -> failed.add(message);
    }

    private long counter(String... name) {
        return context.metrics.getCounter(name).orElseThrow().getCount();
    }

    private static List<String> payloads(List<PubsubMessage> messages) {
        return messages.stream()
                .map(message -> message.getData().toStringUtf8())
                .collect(Collectors.toList());
    }

    @AfterEach
    void close() throws Exception {
        if (writer != null) {
            publisher.confirm();
            letters.confirm();
            writer.close();
        }
    }

    @Test
    void handsOverWhenABatchIsComplete() throws Exception {
        open();
        write("a", "b");
        assertThat(publisher.events()).isEmpty();
        write("c", "d");
        assertThat(publisher.events()).containsExactly("append a@0 b@0 c@0");
        writer.flush(false);
        assertThat(publisher.events()).containsExactly("append a@0 b@0 c@0", "append d@0", "flush");
        assertThat(counter("numRecordsSend")).isEqualTo(4);
        assertThat(counter("numBytesSend"))
                .isEqualTo(4 * (2 + publisher.published().get(0).getSerializedSize()));
        assertThat(counter("numRecordsSendErrors")).isZero();
    }

    @Test
    void handsOverWhenTheBlockIsFull() throws Exception {
        options.batchElementCountThreshold(1_000).batchRequestByteThreshold(1_000);
        open();
        String large = "x".repeat(600);
        write(large, large, large.repeat(4), "s");
        assertThat(publisher.events())
                .containsExactly(
                        "append " + large + "@0",
                        "append " + large + "@0",
                        "append " + large.repeat(4) + "@0");
    }

    @Test
    void handsOverAfterTheBatchDelay() throws Exception {
        options.batchDelayThreshold(Duration.ofMillis(1));
        open();
        write("a");
        // The timer comes by the task's clock, the age is measured: it may have to come again.
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (publisher.events().isEmpty()) {
            assertThat(System.nanoTime()).isLessThan(deadline);
            context.time.advance(1);
        }
        assertThat(publisher.events()).containsExactly("append a@0");
        assertThat(context.time.getNumActiveTimers()).isZero();
    }

    @Test
    void flushWaitsForConfirmation() throws Exception {
        publisher = new FakePublisher(false);
        open();
        write("a", "b");
        Thread service =
                new Thread(
                        () -> {
                            while (!publisher.events().contains("flush")) {
                                Thread.onSpinWait();
                            }
                            publisher.confirm();
                        });
        service.start();
        writer.flush(true);
        service.join();
        assertThat(publisher.events()).containsExactly("append a@0 b@0", "flush");
        assertThat(publisher.state()[0]).isZero();
    }

    @Test
    void anInterruptEndsTheWait() throws Exception {
        publisher = new FakePublisher(false);
        open();
        write("a");
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> writer.flush(false)).isInstanceOf(InterruptedException.class);
        writer.close();
        assertThat(publisher.events()).endsWith("close 0");
    }

    @Test
    void staysWithinTheBounds() throws Exception {
        options.maxInFlightMessages(7);
        open();
        for (int i = 0; i < 100; i++) {
            write("m" + i);
        }
        writer.flush(false);
        assertThat(publisher.published()).hasSize(100);
        assertThat(publisher.maxInFlight()).isBetween(4L, 7L);
    }

    @Test
    void staysWithinTheBytes() throws Exception {
        options.batchElementCountThreshold(1_000).maxInFlightBytes(10_000);
        open();
        for (int i = 0; i < 100; i++) {
            write("x".repeat(900));
        }
        write("y".repeat(20_000));
        writer.flush(false);
        assertThat(publisher.published()).hasSize(101);
        assertThat(publisher.maxInFlightBytes())
                .as("nothing but the large message itself")
                .isBetween(20_000L, 20_100L);
    }

    @Test
    void waitsWhileTheConnectionIsBehind() throws Exception {
        publisher = new FakePublisher(false);
        open();
        publisher.unwritten(InFlightGate.MAX_UNWRITTEN);
        write("a", "b", "c", "d", "e", "f");
        publisher.unwritten(InFlightGate.MAX_UNWRITTEN + 1);
        write("g", "h", "i");
        assertThat(publisher.published()).hasSize(9);
        Map<String, Long> seen = new ConcurrentHashMap<>();
        Thread connection =
                new Thread(
                        () -> {
                            while (publisher.targetUnwritten() < 0) {
                                Thread.onSpinWait();
                            }
                            seen.put("target", publisher.targetUnwritten());
                            seen.put("published", (long) publisher.published().size());
                            publisher.unwritten(0);
                        });
        connection.setDaemon(true);
        connection.start();
        write("j", "k", "l");
        assertThat(publisher.published()).hasSize(12);
        assertThat(seen)
                .containsEntry("published", 9L)
                .containsEntry("target", InFlightGate.MAX_UNWRITTEN / 2);
    }

    @Test
    void waitsOnceForTheDeadLettersConnection() throws Exception {
        handler = FailedMessageHandler.sendToDeadLetterTopic(LETTERS);
        open();
        letters.unwritten(InFlightGate.MAX_UNWRITTEN + 1);
        write("goog", "a", "b");
        assertThat(letters.events()).hasSize(2).endsWith("flush");
        assertThat(letters.published()).hasSize(1);
    }

    @Test
    void skippedRecordsAreCounted() throws Exception {
        open();
        write("skip", "a", "skip");
        writer.flush(false);
        assertThat(payloads(publisher.published())).containsExactly("a");
        assertThat(counter("recordsSkipped")).isEqualTo(2);
    }

    @Test
    void aTopicForEachRecord() throws Exception {
        destination =
                (element, context) ->
                        TopicDestination.of("p", element.startsWith("x") ? "one" : "two");
        open();
        write("x1", "y1", "x2");
        assertThat(publisher.events()).containsExactly("append x1@0 y1@1 x2@0");
    }

    @Test
    void aSerializersFailureNamesThePosition() throws Exception {
        open();
        write("a");
        assertThatThrownBy(() -> write("throw"))
                .isInstanceOf(PubSubException.class)
                .hasMessage(
                        "INVALID_ARGUMENT: the serializer failed at record 2 of subtask 3"
                                + " (timestamp 42): java.lang.IllegalStateException: a serializer's"
                                + " failure");
        assertThat(counter("numRecordsSendErrors")).isEqualTo(1);
        assertThat(counter("errorClass", "INVALID_ARGUMENT", "errors")).isEqualTo(1);
    }

    @Test
    void aResolversFailureNamesThePosition() throws Exception {
        destination = (element, context) -> null;
        collectFailures();
        open();
        write("a");
        assertThat(failed).hasSize(1);
        assertThat(failed.get(0).cause())
                .hasMessageContaining(
                        "the destinationResolver failed at record 1 of subtask 3 (timestamp 42)")
                .hasMessageContaining("it answered null");
    }

    @Test
    void theHandlerGetsWhatIsNotLegal() throws Exception {
        collectFailures();
        open();
        write("a", "goog", "null", "b");
        writer.flush(false);
        assertThat(payloads(publisher.published())).containsExactly("a", "b");
        assertThat(failed).hasSize(2);
        FailedMessage notLegal = failed.get(0);
        assertThat(new String(notLegal.payload(), StandardCharsets.UTF_8)).isEqualTo("goog");
        assertThat(notLegal.attributes()).isEqualTo(Map.of("google", "v", "fine", "w"));
        assertThat(notLegal.destination()).isEqualTo(TOPIC);
        assertThat(notLegal.cause().status()).isEqualTo(Status.INVALID_ARGUMENT);
        assertThat(notLegal.cause()).hasMessageContaining("'google' starts with 'goog'");
        assertThat(failed.get(1).payload()).isNull();
        assertThat(failed.get(1).cause()).hasMessageContaining("payload must not be null");
        assertThat(counter("numRecordsSendErrors")).isEqualTo(2);
    }

    @Test
    void theHandlerGetsWhatTheServiceRefuses() throws Exception {
        publisher = new FakePublisher(false);
        collectFailures();
        options.enableMessageOrdering(true);
        open();
        write("a", "key:k", "b");
        publisher.refuse(1, 0, Status.INVALID_ARGUMENT, "not today");
        context.mailbox.yield();
        assertThat(failed).hasSize(1);
        assertThat(new String(failed.get(0).payload(), StandardCharsets.UTF_8)).isEqualTo("key:k");
        assertThat(failed.get(0).orderingKey()).isEqualTo("k");
        assertThat(failed.get(0).destination()).isEqualTo(TOPIC);
        assertThat(failed.get(0).cause())
                .hasMessage("INVALID_ARGUMENT: not today [projects/p/topics/top]");
        assertThat(publisher.state()[0]).isEqualTo(2);
    }

    @Test
    void deadLettersArePublishedBeforeTheFlushEnds() throws Exception {
        handler = FailedMessageHandler.sendToDeadLetterTopic(LETTERS);
        open();
        write("a");
        assertThat(lettersOpened).isZero();
        write("goog", "goog");
        assertThat(lettersOpened).isEqualTo(1);
        assertThat(letters.state()[0]).isEqualTo(2);
        writer.flush(false);
        assertThat(letters.state()[0]).isZero();
        assertThat(letters.events()).containsExactly("append goog@0", "append goog@0", "flush");
        assertThat(publisher.events()).containsExactly("append a@0", "flush");
        PubsubMessage letter = letters.published().get(0);
        assertThat(letter.getAttributesMap())
                .containsEntry("fine", "w")
                .doesNotContainKey("google")
                .containsEntry("pubsub-failed-subtask", "3")
                .containsEntry("pubsub-failed-destination", "projects/p/topics/top");
        writer.close();
        assertThat(letters.events()).endsWith("flush", "close 0");
    }

    @Test
    void aPayloadThatIsTooLargeForALetterFailsTheJob() {
        handler = FailedMessageHandler.sendToDeadLetterTopic(LETTERS);
        open();
        assertThatThrownBy(() -> write("x".repeat(10_000_001)))
                .isInstanceOf(PubSubException.class)
                .hasMessageContaining(
                        "what the failedMessageHandler publishes to " + LETTERS.path())
                .hasMessageContaining("10000001");
    }

    @Test
    void aDeadLetterOfARefusedMessageIsPublishedBeforeTheFlushEnds() throws Exception {
        publisher = new FakePublisher(false);
        letters = new FakePublisher(false);
        handler = FailedMessageHandler.sendToDeadLetterTopic(LETTERS);
        open();
        write("a", "b", "c");
        publisher.refuse(1, 0, Status.INVALID_ARGUMENT, "no");
        Thread service =
                new Thread(
                        () -> {
                            while (!publisher.events().contains("flush")) {
                                Thread.onSpinWait();
                            }
                            while (letters.events().isEmpty()) {
                                Thread.onSpinWait();
                            }
                            publisher.confirm();
                            while (!letters.events().contains("flush")) {
                                Thread.onSpinWait();
                            }
                            letters.confirm();
                        });
        service.start();
        writer.flush(false);
        service.join();
        assertThat(letters.state()[0]).isZero();
        assertThat(payloads(letters.published())).containsExactly("b");
    }

    @Test
    void aFailedDeadLetterFailsTheJob() throws Exception {
        letters = new FakePublisher(false);
        handler = FailedMessageHandler.sendToDeadLetterTopic(LETTERS);
        open();
        write("goog");
        letters.fail(0, Status.PERMISSION_DENIED, "not this either");
        assertThatThrownBy(() -> context.mailbox.yield())
                .hasRootCauseInstanceOf(PubSubException.class)
                .hasMessageContaining(
                        "PERMISSION_DENIED: what the failedMessageHandler publishes to"
                                + " projects/p/topics/letters failed: not this either");
        assertThat(counter("errorClass", "PERMISSION_DENIED", "errors")).isEqualTo(1);
        writer.close();
        assertThat(publisher.events()).containsExactly("close 0");
        assertThat(letters.events()).endsWith("close 0");
    }

    @Test
    void theTopicOfDeadLettersMustExist() throws Exception {
        letters = new FakePublisher(false);
        handler = FailedMessageHandler.sendToDeadLetterTopic(LETTERS);
        open();
        write("goog");
        letters.fail(0, Status.NOT_FOUND, "no such topic");
        assertThatThrownBy(() -> writer.flush(false))
                .hasMessageContaining(
                        "NOT_FOUND: what the failedMessageHandler publishes to"
                                + " projects/p/topics/letters has no topic: it must exist");
    }

    @Test
    void whatAHandlerPublishesHasToBeLegal() {
        handler = (message, context) -> context.publish(LETTERS, new OutgoingMessage());
        open();
        assertThatThrownBy(() -> write("goog"))
                .isInstanceOf(PubSubException.class)
                .hasMessageContaining("publishes to projects/p/topics/letters is not legal")
                .hasMessageContaining("neither payload nor attributes");
        assertThat(lettersOpened).isZero();
    }

    @Test
    void aHandlersKeyNeedsOrderingToo() {
        handler =
                (message, context) ->
                        context.publish(LETTERS, new OutgoingMessage().orderingKey("k"));
        open();
        assertThatThrownBy(() -> write("goog"))
                .hasMessageContaining("ordering key 'k'")
                .hasMessageContaining("enableMessageOrdering");
    }

    @Test
    void deadLettersStayWithinTheBounds() throws Exception {
        options.maxInFlightMessages(3).maxConsecutiveRejections(1_000);
        handler = FailedMessageHandler.sendToDeadLetterTopic(LETTERS);
        open();
        for (int i = 0; i < 100; i++) {
            write("goog");
        }
        writer.flush(false);
        assertThat(letters.published()).hasSize(100);
        assertThat(letters.maxInFlight()).isEqualTo(4);
    }

    @Test
    void destinationsAreCountedOnRequest() throws Exception {
        destination =
                (element, context) -> TopicDestination.of("p", "top-" + element.substring(0, 1));
        handler = FailedMessageHandler.sendToDeadLetterTopic(LETTERS);
        options.perDestinationMetrics(true);
        open();
        write("a1", "b1", "a22", "goog");
        writer.flush(false);
        assertThat(counter("numRecordsSend")).isEqualTo(4);
        assertThat(counter("topic", "projects/p/topics/top-a", "numRecordsSend")).isEqualTo(2);
        // Each message has two tags and two lengths.
        assertThat(counter("topic", "projects/p/topics/top-a", "numBytesSend")).isEqualTo(6 + 7);
        assertThat(counter("topic", "projects/p/topics/top-b", "numRecordsSend")).isEqualTo(1);
        assertThat(counter("topic", "projects/p/topics/top-b", "numBytesSend")).isEqualTo(6);
        assertThat(counter("topic", "projects/p/topics/top-g", "numRecordsSend")).isZero();
        assertThat(counter("topic", "projects/p/topics/top-g", "numRecordsSendErrors"))
                .isEqualTo(1);
        assertThat(counter("topic", "projects/p/topics/letters", "numRecordsSend")).isEqualTo(1);
        assertThat(counter("numBytesSend"))
                .isEqualTo(
                        6 + 7 + 6 + counter("topic", "projects/p/topics/letters", "numBytesSend"));
    }

    @Test
    void destinationsAreNotCountedByDefault() throws Exception {
        open();
        write("a");
        writer.flush(false);
        assertThat(context.metrics.getCounter("topic", TOPIC.path(), "numRecordsSend")).isEmpty();
    }

    @Test
    void aHandlerThatThrowsFailsTheJob() throws Exception {
        handler =
                (message, context) -> {
                    throw new Exception("the handler's own words");
                };
        open();
        assertThatThrownBy(() -> write("throw"))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("the handler's own words");
        writer.close();
        assertThat(publisher.events()).containsExactly("close 0");
    }

    @Test
    void tooManyFailuresInARowFailTheJob() throws Exception {
        collectFailures();
        options.maxConsecutiveRejections(2);
        open();
        write("throw", "throw", "a", "throw", "goog");
        assertThatThrownBy(() -> write("throw"))
                .isInstanceOf(PubSubException.class)
                .hasMessageContaining("3 messages in a row have failed")
                .hasMessageContaining("maxConsecutiveRejections");
        assertThat(failed).hasSize(4);
    }

    @Test
    void tooManyRefusalsInARowFailTheJob() throws Exception {
        publisher = new FakePublisher(false);
        collectFailures();
        options.maxConsecutiveRejections(1);
        open();
        write("a", "b", "c");
        publisher.refuse(0, 0, Status.INVALID_ARGUMENT, "no");
        context.mailbox.yield();
        publisher.refuse(1, 0, Status.INVALID_ARGUMENT, "no");
        assertThatThrownBy(() -> context.mailbox.yield())
                .hasMessageContaining("2 messages in a row have failed");
    }

    @Test
    void aTerminalFailureFailsTheJobWithoutAnotherRecord() throws Exception {
        publisher = new FakePublisher(false);
        open();
        write("a", "b", "c");
        publisher.fail(0, Status.PERMISSION_DENIED, "no permission");
        Throwable thrown = catchThrowable(() -> context.mailbox.yield());
        assertThat(thrown).isInstanceOf(TestMailbox.MailFailure.class);
        assertThat(thrown.getCause())
                .isInstanceOf(PubSubException.class)
                .hasMessage("PERMISSION_DENIED: no permission [projects/p/topics/top]");
        assertThat(counter("errorClass", "PERMISSION_DENIED", "errors")).isEqualTo(1);
    }

    @Test
    void aTerminalFailureEndsTheFlush() throws Exception {
        publisher = new FakePublisher(false);
        open();
        write("a");
        publisher.fail(0, Status.PERMISSION_DENIED, "no permission");
        assertThatThrownBy(() -> writer.flush(false)).hasMessageContaining("no permission");
    }

    @Test
    void aKeyWithoutOrderingFailsTheJobWhateverTheHandler() {
        collectFailures();
        open();
        assertThatThrownBy(() -> write("key:k"))
                .isInstanceOf(PubSubException.class)
                .hasMessageContaining("ordering key 'k'")
                .hasMessageContaining("enableMessageOrdering");
        assertThat(failed).isEmpty();
    }

    @Test
    void closeSendsWhatIsLeftAndIsIdempotent() throws Exception {
        open();
        write("a");
        writer.close();
        writer.close();
        assertThat(publisher.events()).containsExactly("append a@0", "flush", "close 0");
    }

    @Test
    void closeGivesUpWhenNothingIsConfirmed() throws Exception {
        publisher = new FakePublisher(false);
        open();
        write("a");
        long start = System.nanoTime();
        writer.close();
        assertThat(Duration.ofNanos(System.nanoTime() - start))
                .isBetween(Duration.ofSeconds(3), Duration.ofSeconds(10));
        assertThat(publisher.events()).endsWith("flush", "close 0");
    }

    @Test
    void closeDropsWhatIsRefusedMeanwhile() throws Exception {
        publisher = new FakePublisher(false);
        collectFailures();
        open();
        write("a", "b", "c");
        publisher.confirm();
        write("d", "e", "f");
        for (int message = 3; message < 6; message++) {
            publisher.refuse(message, 0, Status.INVALID_ARGUMENT, "no");
        }
        writer.close();
        assertThat(publisher.state()[0]).isZero();
        assertThat(publisher.takeFailure()).isNull();
    }

    @Test
    void nativeCountersAreReportedForBothPublishersAndAfterClose() throws Exception {
        publisher = new FakePublisher(false);
        letters = new FakePublisher(false);
        handler = FailedMessageHandler.sendToDeadLetterTopic(LETTERS);
        options.shutdownTimeout(Duration.ZERO);
        open();
        publisher.unwritten(42);
        letters.unwritten(42);
        write("a", "b", "c", "goog");
        Map<String, Long> expected =
                Map.of(
                        "inFlightMessages", 4L,
                        "inFlightBytes", counter("numBytesSend"),
                        "unwrittenBytes", 84L,
                        "activePublishers", 2L,
                        "publishRetries", 14L,
                        "parkedMessages", 0L,
                        "topicsCreated", 0L);
        for (int round = 0; round < 2; round++) {
            expected.forEach(
                    (name, value) ->
                            assertThat(
                                            context.metrics
                                                    .<Long>getGauge(name)
                                                    .orElseThrow()
                                                    .getValue())
                                    .as(name)
                                    .isEqualTo(value));
            writer.close();
        }
    }

    @Test
    void everyMetricIsDescribedAndExists() throws Exception {
        collectFailures();
        open();
        write("throw");
        Set<String> described = ReferencePage.read("sink.md").table("Metrics").keySet();
        assertThat(described).hasSize(13);
        for (String name : described) {
            String[] path = name.replace("<CODE>", "INVALID_ARGUMENT").split("\\.");
            assertThat(context.metrics.getMetric(Metric.class, path)).as(name).isPresent();
        }
    }

    @Test
    void optionsOfTheNativeClient() {
        NativeOptions failing =
                PubSubWriter.nativeOptions(
                        config(FailedMessageHandler.failJob(), CreateDisposition.CREATE_NEVER));
        assertThat(failing.asMap())
                .containsEntry("isolate-rejected", "false")
                .containsEntry("create-topics", "false")
                .doesNotContainKey("topic.label.team")
                .containsEntry("batch-element-count", "3");
        NativeOptions dropping =
                PubSubWriter.nativeOptions(
                        config(
                                FailedMessageHandler.logAndDrop(),
                                CreateDisposition.CREATE_IF_NEEDED));
        assertThat(dropping.asMap())
                .containsEntry("isolate-rejected", "true")
                .containsEntry("create-topics", "true")
                .containsEntry("topic.label.team", "a");
    }

    @Test
    void optionsOfTheHandlersPublisher() {
        NativeOptions letters =
                PubSubWriter.lettersOptions(
                        config(
                                FailedMessageHandler.logAndDrop(),
                                CreateDisposition.CREATE_IF_NEEDED));
        assertThat(letters.asMap())
                .containsEntry("isolate-rejected", "false")
                .containsEntry("create-topics", "false")
                .doesNotContainKey("topic.label.team")
                .containsEntry("batch-element-count", "3");
    }

    private SinkConfig<String> config(FailedMessageHandler handler, CreateDisposition disposition) {
        return new SinkConfig<>(
                destination,
                serializer,
                disposition,
                TopicCreateOptions.builder().label("team", "a").build(),
                handler,
                options.build(),
                ConnectionOptions.builder().build());
    }
}

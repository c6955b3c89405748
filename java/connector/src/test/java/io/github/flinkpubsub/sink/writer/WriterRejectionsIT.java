package io.github.flinkpubsub.sink.writer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.OutgoingMessage;
import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.PubSubException.Status;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.sink.FailedMessageHandler;
import io.github.flinkpubsub.testing.Fault;
import io.github.flinkpubsub.testing.FaultAction;
import io.github.flinkpubsub.testing.RecordedRequest;
import io.grpc.Status.Code;

import org.junit.jupiter.api.Test;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Messages that are refused, here or by the service, and what becomes of them. */
class WriterRejectionsIT extends WriterOnServer {

    private static final List<String> ALL =
            IntStream.range(0, 100).mapToObj(i -> "<" + i + ">").collect(Collectors.toList());

    private void refuse(String text, String answer) {
        server.control()
                .addFault(
                        Fault.on("Publish", FaultAction.status(Code.INVALID_ARGUMENT, answer))
                                .resource(TOPIC.path())
                                .whenDataContains(text));
    }

    private static List<String> without(String... texts) {
        List<String> rest = new ArrayList<>(ALL);
        rest.removeAll(List.of(texts));
        return rest;
    }

    private void writeAll() throws Exception {
        for (String text : ALL) {
            write(message -> message.payload(utf8(text)).attribute("é😀", "a\u0000" + text));
        }
    }

    @Test
    void exactlyTheOffenderBecomesADeadLetter() throws Exception {
        createLetters();
        handler = FailedMessageHandler.sendToDeadLetterTopic(LETTERS);
        refuse("<50>", "é😀".repeat(500));
        context.time.setCurrentTime(1_714_972_089_123L);
        open();
        writeAll();
        writer.flush(false);
        assertThat(payloads(server.pull(SUB, 1_000)))
                .containsExactlyInAnyOrderElementsOf(without("<50>"));
        PubsubMessage letter = server.pull(LETTERS_SUB, 10).get(0);
        assertThat(letter.getData().toStringUtf8()).isEqualTo("<50>");
        String error = letter.getAttributesOrThrow("pubsub-failed-error");
        assertThat(error).startsWith("INVALID_ARGUMENT").contains(TOPIC.path());
        assertThat(error.getBytes(StandardCharsets.UTF_8).length).isBetween(1_021, 1_024);
        assertThat(error).containsPattern("(é😀)+é?$").doesNotContain("?");
        Map<String, String> expected = new HashMap<>();
        expected.put("é😀", "a\u0000<50>");
        expected.put("pubsub-failed-connector", "flink-connector-pubsub-native");
        expected.put("pubsub-failed-destination", TOPIC.path());
        expected.put("pubsub-failed-error", error);
        expected.put("pubsub-failed-time", "2024-05-06T05:08:09.123Z");
        expected.put("pubsub-failed-subtask", "3");
        assertThat(letter.getAttributesMap()).isEqualTo(expected);
        assertThat(server.pull(LETTERS_SUB, 10)).isEmpty();
        assertThat(counter("numRecordsSendErrors")).isEqualTo(1);
        writer.close();
        assertThat(Thread.getAllStackTraces().keySet())
                .extracting(Thread::getName)
                .noneMatch(name -> name.startsWith("pubsub-letters-"))
                .noneMatch(name -> name.startsWith("pubsub-writer-"));
    }

    @Test
    void logAndDropGoesOnWithoutTheOffender() throws Exception {
        handler = FailedMessageHandler.logAndDrop();
        refuse("<50>", "not this");
        open();
        writeAll();
        write(message -> message.attribute("google", "v"));
        writer.flush(false);
        assertThat(payloads(server.pull(SUB, 1_000)))
                .containsExactlyInAnyOrderElementsOf(without("<50>"));
        assertThat(counter("numRecordsSendErrors")).isEqualTo(2);
    }

    @Test
    void failJobFailsOnce() throws Exception {
        refuse("<50>", "not this");
        open();
        assertThatThrownBy(
                        () -> {
                            writeAll();
                            writer.flush(false);
                        })
                .hasMessageContaining("INVALID_ARGUMENT")
                .hasMessageContaining("not this")
                .hasMessageContaining(TOPIC.path());
        assertThat(counter("numRecordsSendErrors")).isEqualTo(1);
        assertThat(counter("errorClass", "INVALID_ARGUMENT", "errors")).isEqualTo(1);
    }

    @Test
    void theHandlerGetsAllOfTheMessage() throws Exception {
        collectFailures();
        options.enableMessageOrdering(true);
        refuse("<50>", "not this");
        refuse("<51>", "nor this");
        open();
        for (String text : ALL) {
            write(
                    message ->
                            message.payload(utf8(text))
                                    .attribute("é😀", "a\u0000b")
                                    .orderingKey("k"));
        }
        writer.flush(false);
        assertThat(confirmed("k")).isEqualTo(without("<50>", "<51>"));
        assertThat(failed).hasSize(2);
        for (int i = 0; i < 2; i++) {
            assertThat(failed.get(i).payload()).isEqualTo(utf8("<5" + i + ">"));
            assertThat(failed.get(i).attributes()).isEqualTo(Map.of("é😀", "a\u0000b"));
            assertThat(failed.get(i).orderingKey()).isEqualTo("k");
            assertThat(failed.get(i).destination()).isEqualTo(TOPIC);
            assertThat(failed.get(i).cause().status()).isEqualTo(Status.INVALID_ARGUMENT);
        }
        assertThat(failed.get(0).cause()).hasMessageContaining("not this");
        assertThat(failed.get(1).cause()).hasMessageContaining("nor this");
    }

    @Test
    void theTopicOfDeadLettersIsNeverCreated() throws Exception {
        handler = FailedMessageHandler.sendToDeadLetterTopic(LETTERS);
        refuse("<50>", "not this");
        open();
        writeAll();
        assertThatThrownBy(() -> writer.flush(false))
                .hasStackTraceContaining("NOT_FOUND")
                .hasStackTraceContaining("publishes to projects/p/topics/letters")
                .hasStackTraceContaining("it must exist");
        assertThat(calls()).containsOnlyKeys("Publish");
    }

    @Test
    void aDeadLetterThatCannotBePublishedFailsTheJob() throws Exception {
        createLetters();
        handler = FailedMessageHandler.sendToDeadLetterTopic(LETTERS);
        server.control()
                .addFault(
                        Fault.on("Publish", FaultAction.status(Code.PERMISSION_DENIED, "no"))
                                .resource(LETTERS.path())
                                .skip(1));
        open();
        write(message -> message.attribute("google", "1"));
        writer.flush(false);
        assertThat(server.pull(LETTERS_SUB, 10)).hasSize(1);
        write(message -> message.attribute("google", "2"));
        assertThatThrownBy(() -> writer.flush(false))
                .hasStackTraceContaining("PERMISSION_DENIED")
                .hasStackTraceContaining("publishes to projects/p/topics/letters failed");
    }

    @Test
    void aBrokenSerializerIsFoundOut() throws Exception {
        collectFailures();
        options.maxConsecutiveRejections(10);
        server.control()
                .addFault(
                        Fault.on("Publish", FaultAction.status(Code.INVALID_ARGUMENT, "nothing")));
        open();
        assertThatThrownBy(
                        () -> {
                            writeAll();
                            writer.flush(false);
                        })
                .hasStackTraceContaining("11 messages in a row have failed")
                .hasStackTraceContaining("maxConsecutiveRejections");
        assertThat(failed).hasSize(10);
    }

    @Test
    void limitsAtTheirMaximumPassAndAboveAreRefusedHere() throws Exception {
        collectFailures();
        options.enableMessageOrdering(true);
        open();
        Map<String, List<Consumer<OutgoingMessage>>> limits =
                Map.of(
                        "payload has 10000001 bytes, above the service's limit of 10000000",
                        List.of(
                                m -> m.payload(new byte[10_000_000]),
                                m -> m.payload(new byte[10_000_001])),
                        "a message has 101 attributes, above the service's limit of 100",
                        List.of(m -> attributes(m, 100), m -> attributes(m, 101)),
                        "has 257 bytes, above the service's limit of 256",
                        List.of(
                                m -> m.attribute("é".repeat(128), "v"),
                                m -> m.attribute("é".repeat(128) + "n", "v")),
                        "the value of attribute 'n' has 1025 bytes",
                        List.of(
                                m -> m.attribute("n", "é".repeat(512)),
                                m -> m.attribute("n", "é".repeat(512) + "v")),
                        "ordering key has 1025 bytes",
                        List.of(
                                m -> m.attribute("n", "v").orderingKey("é".repeat(512)),
                                m -> m.attribute("n", "v").orderingKey("é".repeat(512) + "k")),
                        "'googl' starts with 'goog', which is reserved",
                        List.of(m -> m.attribute("goo", "v"), m -> m.attribute("googl", "v")),
                        "neither payload nor attributes",
                        List.of(
                                m -> m.payload(new byte[1]).orderingKey("k"),
                                m -> m.orderingKey("k")));
        for (Map.Entry<String, List<Consumer<OutgoingMessage>>> limit : limits.entrySet()) {
            server.control().forgetRequests();
            failed.clear();
            write(limit.getValue().get(0));
            writer.flush(false);
            assertThat(failed).as("at the limit: " + limit.getKey()).isEmpty();
            assertThat(server.pull(SUB, 10)).hasSize(1);
            long calls = publishes().size();
            write(limit.getValue().get(1));
            writer.flush(false);
            assertThat(failed).hasSize(1);
            assertThat(failed.get(0).cause()).hasMessageContaining(limit.getKey());
            assertThat(publishes()).hasSize((int) calls);
        }
    }

    private static void attributes(OutgoingMessage message, int count) {
        for (int i = 0; i < count; i++) {
            message.attribute("n" + i, "v");
        }
    }

    @Test
    void anyUnicodeArrivesByteForByte() throws Exception {
        options.enableMessageOrdering(true);
        open();
        String text = "\u0000é\u07ff\u0800\uffff😀\udbff\udfff";
        write(message -> message.attribute(text, text + "v").orderingKey(text + "k"));
        writer.flush(false);
        PubsubMessage message = server.receive(SUB, 1, TIMEOUT_MILLIS).get(0);
        assertThat(message.getAttributesMap()).isEqualTo(Map.of(text, text + "v"));
        assertThat(message.getOrderingKey()).isEqualTo(text + "k");
        assertThat(message.getAttributesMap().values().iterator().next().getBytes("UTF-8"))
                .isEqualTo((text + "v").getBytes("UTF-8"));
    }

    @Test
    void aResolversFailureSendsNothing() throws Exception {
        destination =
                (element, context) -> {
                    throw new IllegalStateException("where to?");
                };
        open();
        assertThatThrownBy(() -> writeText("a"))
                .isInstanceOf(PubSubException.class)
                .hasMessageContaining("the destinationResolver failed at record 1 of subtask 3")
                .hasMessageContaining("where to?");

        assertThat(publishes()).isEmpty();
    }

    @Test
    void metricsOfAScriptedScenario() throws Exception {
        createLetters();
        handler = FailedMessageHandler.sendToDeadLetterTopic(LETTERS);
        options.perDestinationMetrics(true).batchDelayThreshold(Duration.ofHours(1));
        destination =
                (element, context) -> {
                    OutgoingMessage message = new OutgoingMessage();
                    element.accept(message);
                    return message.attributeCount() > 0 ? TopicDestination.of("p", "new") : TOPIC;
                };
        refuse("<1>", "not this");
        server.control()
                .addFault(
                        Fault.on("Publish", FaultAction.status(Code.UNAVAILABLE, "later"))
                                .resource(TOPIC.path())
                                .times(3));
        String held = server.control().addFault(Fault.on("CreateTopic", FaultAction.hold()));
        open();
        for (int i = 0; i < 3; i++) {
            writeText("<" + i + ">");
        }
        write(message -> {});
        for (int i = 0; i < 5; i++) {
            write(message -> message.attribute("n", "v"));
        }
        // In the end the five wait for their topic, and the letter for the flush.
        Thread release =
                new Thread(
                        () -> {
                            while (gauge("parkedMessages") < 5 || gauge("inFlightMessages") != 6) {
                                Thread.onSpinWait();
                            }
                            server.control().removeFault(held);
                        });
        release.start();
        writer.flush(false);
        release.join();
        Map<String, Long> counters =
                Map.of(
                        "numRecordsSend", 9L,
                        "numRecordsSendErrors", 1L,
                        "recordsSkipped", 1L);
        Map<String, Long> gauges =
                Map.of(
                        "inFlightMessages", 0L,
                        "inFlightBytes", 0L,
                        "parkedMessages", 0L,
                        "topicsCreated", 1L,
                        "publishRetries", 3L,
                        "activePublishers", 3L);
        for (int round = 0; round < 2; round++) {
            counters.forEach((name, value) -> assertThat(counter(name)).as(name).isEqualTo(value));
            gauges.forEach((name, value) -> assertThat(gauge(name)).as(name).isEqualTo(value));
            assertThat(counter("errorClass", "INVALID_ARGUMENT", "errors")).isEqualTo(1);
            assertThat(counter("topic", TOPIC.path(), "numRecordsSend")).isEqualTo(3);
            assertThat(counter("topic", TOPIC.path(), "numBytesSend")).isEqualTo(3 * (4 + 3));
            assertThat(counter("topic", TOPIC.path(), "numRecordsSendErrors")).isEqualTo(1);
            assertThat(counter("topic", "projects/p/topics/new", "numRecordsSend")).isEqualTo(5);
            assertThat(counter("topic", LETTERS.path(), "numRecordsSend")).isEqualTo(1);
            assertThat(counter("numBytesSend"))
                    .isEqualTo(
                            3 * (4 + 3)
                                    + 5 * (2 + 2 + 6)
                                    + counter("topic", LETTERS.path(), "numBytesSend"));
            writer.close();
        }
        List<String> sent =
                publishes().stream()
                        .map(RecordedRequest::resource)
                        .distinct()
                        .collect(Collectors.toList());
        assertThat(sent)
                .containsExactlyInAnyOrder(TOPIC.path(), "projects/p/topics/new", LETTERS.path());
    }
}

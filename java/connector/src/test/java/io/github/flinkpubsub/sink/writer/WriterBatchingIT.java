package io.github.flinkpubsub.sink.writer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.OutgoingMessage;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.sink.Compression;
import io.github.flinkpubsub.sink.CreateDisposition;
import io.github.flinkpubsub.testing.Fault;
import io.github.flinkpubsub.testing.FaultAction;
import io.github.flinkpubsub.testing.RecordedRequest;
import io.grpc.Status.Code;

import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Which messages share a request, and what the service sees of it. */
class WriterBatchingIT extends WriterOnServer {

    private static List<String> numbered(String key, int from, int to) {
        return IntStream.rangeClosed(from, to)
                .filter(i -> i > 0)
                .mapToObj(i -> key + i)
                .collect(Collectors.toList());
    }

    private List<Long> sizes(RecordedRequest request) {
        return request.messages().stream()
                .map(RecordedRequest.Message::dataBytes)
                .collect(Collectors.toList());
    }

    @Test
    void aLargeMessageGoesAloneAndOrderIsKept() throws Exception {
        options.batchRequestByteThreshold(1_000_000)
                .batchDelayThreshold(Duration.ofHours(1))
                .enableMessageOrdering(true);
        open();
        for (int i = 1; i <= 7; i++) {
            byte[] payload = new byte[i == 4 ? 8_000_000 : i];
            write(message -> message.payload(payload).orderingKey("k"));
        }
        writer.flush(false);
        assertThat(publishes())
                .extracting(this::sizes)
                .containsExactly(List.of(1L, 2L, 3L), List.of(8_000_000L), List.of(5L, 6L, 7L));
    }

    @Test
    void noRequestHasMoreThanAThousandMessages() throws Exception {
        options.batchDelayThreshold(Duration.ofHours(1));
        open();
        for (int i = 0; i < 2_500; i++) {
            writeText(String.format("m%09d", i));
        }
        writer.flush(false);
        assertThat(publishes())
                .extracting(r -> r.messages().size())
                .containsExactlyInAnyOrder(1_000, 1_000, 500);
        assertThat(payloads(server.receive(SUB, 2_500, TIMEOUT_MILLIS))).doesNotHaveDuplicates();
    }

    @Test
    void noRequestIsLargerThanTheServiceTakes() throws Exception {
        // 100 attributes of 256 + 1,024 bytes: 128 KB, many times what the data has.
        options.batchRequestByteThreshold(10_000_000).batchDelayThreshold(Duration.ofHours(1));
        open();
        String value = "v".repeat(1_024);
        for (int i = 0; i < 200; i++) {
            write(
                    message -> {
                        for (int a = 0; a < 100; a++) {
                            message.attribute(String.format("%0256d", a), value);
                        }
                    });
        }
        writer.flush(false);
        assertThat(publishes())
                .hasSizeBetween(3, 6)
                .allMatch(request -> !request.messages().isEmpty())
                .allMatch(request -> request.bytes() <= 10_000_000);
        assertThat(publishes().stream().mapToInt(r -> r.messages().size()).sum()).isEqualTo(200);
        List<PubsubMessage> received = server.receive(SUB, 200, TIMEOUT_MILLIS);
        assertThat(received).allMatch(message -> message.getAttributesCount() == 100);
    }

    @Test
    void nothingIsSentForNothing() throws Exception {
        open();
        writer.flush(false);
        writer.flush(true);
        writer.close();
        assertThat(calls()).isEmpty();
    }

    @Test
    void atTheBoundsNothingWaitsForABatchToFill() throws Exception {
        options.batchElementCountThreshold(100)
                .maxInFlightMessages(150)
                .batchDelayThreshold(Duration.ofHours(1))
                .enableMessageOrdering(true);
        open();
        for (int i = 0; i < 300; i++) {
            writeKeyed("key" + i % 100, i);
        }
        writer.flush(false);
        assertThat(server.receive(SUB, 300, TIMEOUT_MILLIS)).hasSize(300);
    }

    @Test
    void manyRequestsAreUnderWayAtOnce() throws Exception {
        options.batchElementCountThreshold(1);
        String held = server.control().addFault(Fault.on("Publish", FaultAction.hold()).times(20));
        open();
        for (int i = 0; i < 20; i++) {
            writeText("m" + i);
        }
        long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        while (server.control().faults().get(0).hits() < 20) {
            assertThat(System.nanoTime()).as("20 requests at once").isLessThan(deadline);
        }
        assertThat(gauge("inFlightMessages")).isEqualTo(20);
        server.control().removeFault(held);
        writer.flush(false);
        assertThat(gauge("inFlightMessages")).isZero();
    }

    @Test
    void largeRequestsAreCompressed() throws Exception {
        options.compression(Compression.gzip(1_000)).batchDelayThreshold(Duration.ofHours(1));
        open();
        writeText("x".repeat(100));
        writer.flush(false);
        writeText("y".repeat(10_000));
        writer.flush(false);
        assertThat(publishes())
                .extracting(request -> request.headers().get("grpc-encoding"))
                .containsExactly(null, "gzip");
        assertThat(payloads(server.receive(SUB, 2, TIMEOUT_MILLIS)))
                .containsExactlyInAnyOrder("x".repeat(100), "y".repeat(10_000));
    }

    @Test
    void keysKeepTheirOrderThroughRetriesAndRefusals() throws Exception {
        collectFailures();
        options.enableMessageOrdering(true).batchElementCountThreshold(5);
        server.control()
                .addFault(
                        Fault.on("Publish", FaultAction.status(Code.UNAVAILABLE, "again"))
                                .whenOrderingKey("A")
                                .whenDataContains("A10")
                                .times(2));
        open();
        for (int i = 1; i <= 100; i++) {
            writeKeyed("A", i);
            writeKeyed("B", i);
        }
        writer.flush(false);
        assertThat(confirmed("A")).isEqualTo(numbered("A", 1, 100));
        assertThat(confirmed("B")).isEqualTo(numbered("B", 1, 100));
        assertThat(publishes())
                .allMatch(
                        request ->
                                request.messages().stream()
                                                .map(RecordedRequest.Message::orderingKey)
                                                .distinct()
                                                .count()
                                        == 1);
        assertThat(gauge("publishRetries")).isEqualTo(2);

        server.control().removeFaults();
        server.control().forgetRequests();
        server.control()
                .addFault(
                        Fault.on("Publish", FaultAction.status(Code.INVALID_ARGUMENT, "not this"))
                                .whenOrderingKey("A")
                                .whenDataContains("A210"));
        for (int i = 201; i <= 300; i++) {
            writeKeyed("A", i);
            writeKeyed("B", i);
        }
        writer.flush(false);
        List<String> rest = numbered("A", 201, 300);
        rest.remove("A210");
        assertThat(confirmed("A")).isEqualTo(rest);
        assertThat(confirmed("B")).isEqualTo(numbered("B", 201, 300));
        assertThat(failed).hasSize(1);
        assertThat(new String(failed.get(0).payload(), "UTF-8")).isEqualTo("A210");
        assertThat(failed.get(0).orderingKey()).isEqualTo("A");
    }

    @Test
    void aKeyThatWaitsDoesNotDelayOthers() throws Exception {
        options.enableMessageOrdering(true)
                .batchElementCountThreshold(10)
                .batchDelayThreshold(Duration.ZERO);
        String held =
                server.control()
                        .addFault(Fault.on("Publish", FaultAction.hold()).whenOrderingKey("A"));
        open();
        for (int i = 1; i <= 100; i++) {
            writeKeyed("A", i);
            writeKeyed("B", i);
        }
        // Returns only when B's hundred are confirmed, as A's first request is held.
        assertThat(payloads(server.receive(SUB, 100, TIMEOUT_MILLIS)))
                .hasSize(100)
                .allMatch(text -> text.startsWith("B"));
        assertThat(
                        publishes().stream()
                                .filter(r -> r.messages().get(0).orderingKey().equals("A"))
                                .count())
                .as("requests of A under way")
                .isEqualTo(1);
        server.control().removeFault(held);
        writer.flush(false);
        assertThat(confirmed("A")).isEqualTo(numbered("A", 1, 100));
    }

    @Test
    void manyThousandKeysAreBoundedAndFair() throws Exception {
        options.enableMessageOrdering(true).maxInFlightMessages(2_000);
        open();
        long most = 0;
        for (int i = 0; i < 30_000; i++) {
            int number = i;
            write(message -> message.payload(utf8("" + number)).orderingKey("k" + number % 15_000));
            if (i % 100 == 0) {
                most = Math.max(most, gauge("inFlightMessages"));
            }
        }
        writer.flush(false);
        assertThat(most).isBetween(1L, 2_000L);
        List<String> all = payloads(server.receive(SUB, 30_000, TIMEOUT_MILLIS));
        assertThat(new HashSet<>(all)).hasSize(30_000);
        List<Integer> numbers = all.stream().map(Integer::valueOf).collect(Collectors.toList());
        int[] second = new int[15_000];
        for (int number : numbers) {
            assertThat(second[number % 15_000]).isEqualTo(number < 15_000 ? 0 : 1);
            second[number % 15_000]++;
        }
    }

    @Test
    void tenThousandTopicsOverOneWriter() throws Exception {
        options.maxActivePublishers(100)
                .batchElementCountThreshold(1_000)
                .maxInFlightMessages(5_000);
        destination =
                (element, context) -> {
                    OutgoingMessage message = new OutgoingMessage();
                    element.accept(message);
                    return TopicDestination.of("p", "topic-" + message.attributeValue(0));
                };
        open();
        long mostActive = 0;
        for (int round = 0; round < 2; round++) {
            for (int i = 0; i < 10_000; i++) {
                String number = Integer.toString(i);
                write(message -> message.attribute("n", number));
                if (i % 500 == 0) {
                    mostActive = Math.max(mostActive, gauge("activePublishers"));
                }
            }
            writer.flush(false);
            // What is clean is released, so that the second round makes it anew.
            assertThat(gauge("activePublishers")).isBetween(0L, 100L);
        }
        assertThat(mostActive).isBetween(1L, 5_100L);
        assertThat(gauge("topicsCreated")).isEqualTo(10_000);
        assertThat(calls())
                .containsOnlyKeys("CreateTopic", "Publish")
                .containsEntry("CreateTopic", 10_000L);
        Set<String> seen = new HashSet<>();
        List<String> confirmed = new ArrayList<>();
        for (RecordedRequest request : publishes()) {
            if (request.status().orElse("").equals("OK")) {
                for (RecordedRequest.Message message : request.messages()) {
                    assertThat(request.resource())
                            .endsWith("/topic-" + message.attributes().get("n"));
                    seen.add(request.resource());
                    confirmed.add(request.resource());
                }
            }
        }
        assertThat(seen).hasSize(10_000);
        assertThat(confirmed).hasSize(20_000);
    }

    @Test
    void topicsThatAreIdleAreReleasedAndMadeAnew() throws Exception {
        options.publisherIdleTimeout(Duration.ofSeconds(1));
        open();
        for (int round = 0; round < 2; round++) {
            writeText("m" + round);
            writer.flush(false);
            long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
            while (gauge("activePublishers") > 0) {
                assertThat(System.nanoTime()).as("an active topic").isLessThan(deadline);
            }
        }
        assertThat(payloads(server.receive(SUB, 2, TIMEOUT_MILLIS))).containsExactly("m0", "m1");
    }

    @Test
    void aTopicThatExistsCostsNoAdminCall() throws Exception {
        for (String method : List.of("GetTopic", "CreateTopic", "ListTopics", "UpdateTopic")) {
            server.control()
                    .addFault(
                            Fault.on(
                                    method,
                                    FaultAction.status(Code.PERMISSION_DENIED, "publish only")));
        }
        open();
        for (int i = 0; i < 5_000; i++) {
            writeText("m" + i);
        }
        writer.flush(true);
        writer.close();
        assertThat(calls()).containsOnlyKeys("Publish");
        assertThat(server.receive(SUB, 5_000, TIMEOUT_MILLIS)).hasSize(5_000);
    }

    @Test
    void aMissingTopicIsNotCreatedUnlessTold() throws Exception {
        create = CreateDisposition.CREATE_NEVER;
        destination = (element, context) -> TopicDestination.of("p", "missing");
        open();
        writeText("a");
        assertThatThrownBy(() -> writer.flush(false))
                .hasMessageContaining("NOT_FOUND")
                .hasMessageContaining("projects/p/topics/missing")
                .hasMessageContaining("createDisposition is CREATE_NEVER");
        assertThat(calls()).containsOnlyKeys("Publish");
    }
}

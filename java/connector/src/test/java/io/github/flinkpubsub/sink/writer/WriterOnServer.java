package io.github.flinkpubsub.sink.writer;

import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.ConnectionOptions;
import io.github.flinkpubsub.OutgoingMessage;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.sink.CreateDisposition;
import io.github.flinkpubsub.sink.DestinationResolver;
import io.github.flinkpubsub.sink.FailedMessage;
import io.github.flinkpubsub.sink.FailedMessageHandler;
import io.github.flinkpubsub.sink.PubSubPublisherOptions;
import io.github.flinkpubsub.sink.SinkConfig;
import io.github.flinkpubsub.sink.TopicCreateOptions;
import io.github.flinkpubsub.testing.PubSubEmulator;
import io.github.flinkpubsub.testing.RecordedRequest;

import org.apache.flink.api.connector.sink2.SinkWriter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/** A writer with the native publisher on the embedded server; records fill the message. */
@Tag("integration")
@Tag("flink2")
@Timeout(value = 2, unit = TimeUnit.MINUTES)
abstract class WriterOnServer {

    static final TopicDestination TOPIC = TopicDestination.of("p", "orders");
    static final TopicDestination LETTERS = TopicDestination.of("p", "letters");
    static final String SUB = "projects/p/subscriptions/orders-sub";
    static final String LETTERS_SUB = "projects/p/subscriptions/letters-sub";
    static final long TIMEOUT_MILLIS = 60_000;

    private static final SinkWriter.Context CONTEXT =
            new SinkWriter.Context() {
                @Override
                public long currentWatermark() {
                    return 0;
                }

                @Override
                public Long timestamp() {
                    return 42L;
                }
            };

    final TestWriterContext context = new TestWriterContext();
    final List<FailedMessage> failed = new ArrayList<>();
    final PubSubPublisherOptions.Builder options = retrying(PubSubPublisherOptions.builder());
    PubSubEmulator server;
    DestinationResolver<Consumer<OutgoingMessage>> destination = (element, context) -> TOPIC;
    FailedMessageHandler handler = FailedMessageHandler.failJob();
    CreateDisposition create = CreateDisposition.CREATE_IF_NEEDED;
    PubSubWriter<Consumer<OutgoingMessage>> writer;

    /** Everything that waits waits shortly, so that faults do not make tests slow. */
    private static PubSubPublisherOptions.Builder retrying(PubSubPublisherOptions.Builder options) {
        return options.retryInitialDelay(Duration.ofMillis(5))
                .retryMaxDelay(Duration.ofMillis(20))
                .recoveryInitialBackoff(Duration.ofMillis(5))
                .recoveryMaxBackoff(Duration.ofMillis(20));
    }

    @BeforeEach
    void startServer() throws Exception {
        server = PubSubEmulator.start();
        server.createTopic(TOPIC.path());
        server.createSubscription(SUB, TOPIC.path());
        server.control().record(true);
        server.control().forgetRequests();
    }

    @AfterEach
    void stopServer() throws Exception {
        try {
            if (writer != null) {
                server.control().removeFaults();
                writer.close();
            }
        } finally {
            server.close();
        }
    }

    void createLetters() {
        server.createTopic(LETTERS.path());
        server.createSubscription(LETTERS_SUB, LETTERS.path());
    }

    void collectFailures() {
        handler = (message, context) -> failed.add(message);
    }

    void open() throws Exception {
        ConnectionOptions.Builder connection = ConnectionOptions.builder();
        connection.emulatorEndpoint(server.endpoint());
        writer =
                PubSubWriter.create(
                        new SinkConfig<>(
                                destination,
                                (element, context, message) -> {
                                    element.accept(message);
                                    return message.payloadLength() > 0
                                            || message.attributeCount() > 0
                                            || message.orderingKey() != null;
                                },
                                create,
                                TopicCreateOptions.builder().build(),
                                handler,
                                options.build(),
                                connection.build()),
                        context);
    }

    void write(Consumer<OutgoingMessage> record) throws Exception {
        writer.write(record, CONTEXT);
    }

    void writeText(String text) throws Exception {
        write(message -> message.payload(utf8(text)));
    }

    void writeKeyed(String key, int number) throws Exception {
        write(message -> message.payload(utf8(key + number)).orderingKey(key));
    }

    static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    List<RecordedRequest> publishes() {
        return server.control().requests("Publish");
    }

    /** Calls that the writer made, by method. */
    Map<String, Long> calls() {
        Map<String, Long> calls = new TreeMap<>(server.control().calls());
        calls.values().removeIf(count -> count == 0);
        return calls;
    }

    /** The first part of each message's data in the requests that were answered with OK. */
    List<String> confirmed(String orderingKey) {
        return publishes().stream()
                .filter(request -> request.status().orElse("").equals("OK"))
                .flatMap(request -> request.messages().stream())
                .filter(message -> message.orderingKey().equals(orderingKey))
                .map(RecordedRequest.Message::data)
                .collect(Collectors.toList());
    }

    static List<String> payloads(List<PubsubMessage> messages) {
        return messages.stream()
                .map(message -> message.getData().toStringUtf8())
                .collect(Collectors.toList());
    }

    long counter(String... name) {
        return context.metrics.getCounter(name).orElseThrow().getCount();
    }

    long gauge(String name) {
        return context.metrics.<Long>getGauge(name).orElseThrow().getValue();
    }
}

package io.github.flinkpubsub.sink.writer;

import io.github.flinkpubsub.OutgoingMessage;
import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.PubSubException.Status;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.nativebridge.Publisher;
import io.github.flinkpubsub.nativebridge.PublisherCounter;
import io.github.flinkpubsub.sink.FailedMessage;
import io.github.flinkpubsub.sink.FailedMessageHandler;
import io.github.flinkpubsub.wire.InvalidMessageException;
import io.github.flinkpubsub.wire.MessageBlock;
import io.github.flinkpubsub.wire.WireMessage;

import org.apache.flink.api.common.operators.ProcessingTimeService;

import java.io.IOException;
import java.util.HashSet;
import java.util.Set;

/**
 * Gives failed messages to the handler, and publishes what the handler makes of them. Fails the job
 * when nothing but failures comes. Belongs to the task's thread.
 */
final class Rejections implements FailedMessageHandler.Context {

    private static final int BLOCK_BYTES = 64 << 10;

    private final FailedMessageHandler handler;
    private final Publisher publisher;
    private final InFlightGate gate;
    private final Topics topics;
    private final SinkMetrics metrics;
    private final ProcessingTimeService clock;
    private final int subtask;
    private final int maxInRow;

    /** The handler's own messages do not wait among the others: they replace what has left them. */
    private final MessageBlock block = new MessageBlock(BLOCK_BYTES);

    private final Set<Integer> handlerTopics = new HashSet<>();
    private int localInRow;
    private int refusedInRow;
    private long publishedBefore;

    Rejections(
            FailedMessageHandler handler,
            int maxInRow,
            Publisher publisher,
            InFlightGate gate,
            Topics topics,
            SinkMetrics metrics,
            ProcessingTimeService clock,
            int subtask) {
        this.handler = handler;
        this.maxInRow = maxInRow;
        this.publisher = publisher;
        this.gate = gate;
        this.topics = topics;
        this.metrics = metrics;
        this.clock = clock;
        this.subtask = subtask;
    }

    /** A record has become a message. */
    void accepted() {
        localInRow = 0;
    }

    /** A record could not be made a message, or one that the service would refuse. */
    void reject(FailedMessage message) throws IOException, InterruptedException {
        localInRow++;
        handle(message, localInRow);
    }

    /** The service has refused a message. */
    void refused(PublishFailure failure) throws IOException, InterruptedException {
        TopicDestination topic = topics.destination(failure.topic());
        PubSubException cause = new PubSubException(failure.status(), topic.path(), failure.text());
        if (handlerTopics.contains(failure.topic())) {
            metrics.failed(cause.status());
            throw new PubSubException(
                    cause.status(),
                    topic.path(),
                    "what the failedMessageHandler published to "
                            + topic
                            + " was refused: "
                            + failure.text(),
                    cause);
        }
        long published = publisher.state()[PublisherCounter.PUBLISHED_MESSAGES.ordinal()];
        refusedInRow = published == publishedBefore ? refusedInRow + 1 : 1;
        publishedBefore = published;
        WireMessage message = WireMessage.parse(failure.message());
        handle(
                new FailedMessage(
                        message.payload(),
                        message.attributes(),
                        message.orderingKey(),
                        topic,
                        cause),
                refusedInRow);
    }

    private void handle(FailedMessage message, int inRow) throws IOException, InterruptedException {
        metrics.failed(message.cause().status());
        if (inRow > maxInRow) {
            throw new PubSubException(
                    message.cause().status(),
                    message.cause().resource(),
                    inRow
                            + " messages in a row have failed, above maxConsecutiveRejections; the"
                            + " last one: "
                            + message.cause().getMessage(),
                    message.cause());
        }
        try {
            handler.handle(message, this);
        } catch (IOException | InterruptedException | RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IOException("the failedMessageHandler has failed: " + e, e);
        }
    }

    @Override
    public void publish(TopicDestination topic, OutgoingMessage message) throws IOException {
        int number = topics.number(topic);
        handlerTopics.add(number);
        try {
            block.measure(message);
        } catch (InvalidMessageException e) {
            throw new PubSubException(
                    Status.INVALID_ARGUMENT,
                    topic.path(),
                    "what the failedMessageHandler publishes to "
                            + topic
                            + " is not legal: "
                            + e.getMessage(),
                    e);
        }
        block.add(message, number);
        publisher.append(
                block.data(), block.length(), block.index(), block.count(), 0, gate.inFlight());
        metrics.sent(block.count(), block.length());
        block.clear();
    }

    @Override
    public int subtaskIndex() {
        return subtask;
    }

    @Override
    public long currentTimeMillis() {
        return clock.getCurrentProcessingTime();
    }
}

package io.github.flinkpubsub.sink.writer;

import io.github.flinkpubsub.OutgoingMessage;
import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.nativebridge.Publisher;
import io.github.flinkpubsub.nativebridge.PublisherCounter;
import io.github.flinkpubsub.sink.FailedMessage;
import io.github.flinkpubsub.sink.FailedMessageHandler;
import io.github.flinkpubsub.wire.WireMessage;

import org.apache.flink.api.common.operators.ProcessingTimeService;

import java.io.IOException;

/**
 * Gives failed messages to the handler, and what the handler makes of them to {@link Letters}.
 * Fails the job when nothing but failures comes. Belongs to the task's thread.
 */
final class Rejections implements FailedMessageHandler.Context {

    private final FailedMessageHandler handler;
    private final Publisher publisher;
    private final Letters letters;
    private final Topics topics;
    private final SinkMetrics metrics;
    private final ProcessingTimeService clock;
    private final int subtask;
    private final int maxInRow;

    private int localInRow;
    private int refusedInRow;
    private long publishedBefore;

    Rejections(
            FailedMessageHandler handler,
            int maxInRow,
            Publisher publisher,
            Letters letters,
            Topics topics,
            SinkMetrics metrics,
            ProcessingTimeService clock,
            int subtask) {
        this.handler = handler;
        this.maxInRow = maxInRow;
        this.publisher = publisher;
        this.letters = letters;
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
        metrics.failed(message.cause().status(), message.destination());
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
        letters.publish(topic, message);
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

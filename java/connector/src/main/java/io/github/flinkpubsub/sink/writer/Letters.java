package io.github.flinkpubsub.sink.writer;

import io.github.flinkpubsub.OutgoingMessage;
import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.PubSubException.Status;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.nativebridge.Publisher;
import io.github.flinkpubsub.nativebridge.PublisherCounter;
import io.github.flinkpubsub.sink.PubSubPublisherOptions;
import io.github.flinkpubsub.wire.InvalidMessageException;
import io.github.flinkpubsub.wire.MessageBlock;

import org.apache.flink.api.common.operators.MailboxExecutor;

import java.io.IOException;

import javax.annotation.Nullable;

/**
 * Publishes what the failed-message handler makes of failed messages, through a publisher of its
 * own: one that never creates topics, for which every refusal fails the job, and which is there
 * only once something has failed. Belongs to the task's thread, the counters apart.
 */
final class Letters {

    private static final int BLOCK_BYTES = 64 << 10;

    private final Opener opener;
    private final MailboxExecutor mailbox;
    private final PubSubPublisherOptions options;
    private final SinkMetrics metrics;
    private final String threadName;
    private final MessageBlock block = new MessageBlock(BLOCK_BYTES);

    @Nullable private volatile Publisher publisher;
    private Topics topics;
    private InFlightGate gate;
    private PublisherWatch watch;
    private boolean failed;

    Letters(
            Opener opener,
            MailboxExecutor mailbox,
            PubSubPublisherOptions options,
            SinkMetrics metrics,
            String threadName) {
        this.opener = opener;
        this.mailbox = mailbox;
        this.options = options;
        this.metrics = metrics;
        this.threadName = threadName;
    }

    /** Hands over a message; never waits, as it is called while others wait. */
    void publish(TopicDestination topic, OutgoingMessage message) throws IOException {
        OrderingCheck.check(options, topic, message);
        try {
            block.measure(message);
        } catch (InvalidMessageException e) {
            throw failure(Status.INVALID_ARGUMENT, topic, "is not legal: " + e.getMessage());
        }
        open();
        block.add(message, topics.number(topic));
        publisher.append(
                block.data(), block.length(), block.index(), block.count(), 0, gate.inFlight());
        metrics.sent(block, topics);
        block.clear();
    }

    /** Waits, before a record, while more than the bounds allow is in flight. */
    void awaitRoom() throws IOException, InterruptedException {
        if (publisher != null
                && gate.mayBeAbove(options.maxInFlightMessages(), options.maxInFlightBytes(), 0)) {
            publisher.flush();
            gate.await(options.maxInFlightMessages(), options.maxInFlightBytes(), 0);
        }
    }

    /** Returns when everything is on the service. */
    void flush() throws IOException, InterruptedException {
        if (publisher != null) {
            publisher.flush();
            gate.await(0, 0, 0);
        }
    }

    /** Any thread: a counter of this publisher; 0 while there is none. */
    long counter(PublisherCounter counter) {
        Publisher opened = publisher;
        return opened == null ? 0 : opened.state()[counter.ordinal()];
    }

    boolean hasFailed() {
        return failed;
    }

    /** Waits before the close, as {@link FinalFlush} does. */
    void finish(long end) throws IOException {
        if (publisher != null) {
            FinalFlush.await(publisher, end);
        }
    }

    /** Drops what is in flight. */
    void close() throws IOException {
        if (publisher != null) {
            try {
                publisher.close(0);
            } finally {
                watch.close();
            }
        }
    }

    private void open() throws IOException {
        if (publisher != null) {
            return;
        }
        Publisher opened = opener.open();
        topics = new Topics(opened);
        gate = new InFlightGate(opened, mailbox, options.batchRequestByteThreshold());
        watch = PublisherWatch.start(opened, mailbox, this::onEvents, threadName);
        publisher = opened;
    }

    private void onEvents(int events) throws IOException {
        if ((events & Publisher.FAILURE) != 0) {
            byte[] descriptor = publisher.takeFailure();
            if (descriptor != null) {
                PublishFailure failure = PublishFailure.parse(descriptor);
                TopicDestination topic = topics.destination(failure.topic());
                failed = true;
                metrics.failed(failure.status(), topic);
                throw failure(
                        failure.status(),
                        topic,
                        failure.status() == Status.NOT_FOUND
                                ? "has no topic: it must exist, and is not created whatever"
                                        + " createDisposition says"
                                : "failed: " + failure.text());
            }
        }
        if ((events & Publisher.TARGET_REACHED) != 0) {
            gate.targetReached();
        }
    }

    private static PubSubException failure(
            Status status, @Nullable TopicDestination topic, String text) {
        String path = topic == null ? null : topic.path();
        return new PubSubException(
                status,
                path,
                "what the failedMessageHandler publishes"
                        + (topic == null ? " " : " to " + topic + " ")
                        + text);
    }

    /** Makes the publisher. */
    @FunctionalInterface
    interface Opener {
        Publisher open() throws IOException;
    }
}

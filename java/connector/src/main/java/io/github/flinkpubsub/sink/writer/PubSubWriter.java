package io.github.flinkpubsub.sink.writer;

import io.github.flinkpubsub.OutgoingMessage;
import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.PubSubException.Status;
import io.github.flinkpubsub.PubSubSerializationSchema;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.nativebridge.NativeLibrary;
import io.github.flinkpubsub.nativebridge.NativeOptions;
import io.github.flinkpubsub.nativebridge.NativePublisher;
import io.github.flinkpubsub.nativebridge.Publisher;
import io.github.flinkpubsub.sink.CreateDisposition;
import io.github.flinkpubsub.sink.DestinationResolver;
import io.github.flinkpubsub.sink.FailedMessage;
import io.github.flinkpubsub.sink.PubSubPublisherOptions;
import io.github.flinkpubsub.sink.SinkConfig;
import io.github.flinkpubsub.wire.InvalidMessageException;

import org.apache.flink.annotation.Internal;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;

import java.io.IOException;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

import javax.annotation.Nullable;

/**
 * Writes records: record → {@link OutgoingMessage} → {@link Outbox} → native publisher. All methods
 * run on the task's thread; {@link PublisherWatch} has the only other one.
 *
 * @param <T> the records' type
 */
@Internal
public final class PubSubWriter<T> implements SinkWriter<T> {

    private final PubSubSerializationSchema<T> serializer;
    private final DestinationResolver<T> destinations;
    private final PubSubPublisherOptions options;
    private final int subtask;
    private final Publisher publisher;
    private final SinkMetrics metrics;
    private final Topics topics;
    private final InFlightGate gate;
    private final Outbox outbox;
    private final Letters letters;
    private final Rejections rejections;
    private final PublisherWatch watch;
    private final OutgoingMessage message = new OutgoingMessage();
    private long records;

    /** After a failure nothing is owed: the records come again from the last checkpoint. */
    private boolean failed;

    private boolean closed;

    private PubSubWriter(
            SinkConfig<T> config,
            WriterInitContext context,
            Publisher publisher,
            Letters.Opener lettersPublisher) {
        this.serializer = config.serializer();
        this.destinations = config.destination();
        this.options = config.publisherOptions();
        this.subtask = context.getTaskInfo().getIndexOfThisSubtask();
        this.publisher = publisher;
        metrics = new SinkMetrics(context.metricGroup(), options.perDestinationMetrics());
        topics = new Topics(publisher);
        gate =
                new InFlightGate(
                        publisher,
                        context.getMailboxExecutor(),
                        options.batchRequestByteThreshold());
        outbox =
                new Outbox(
                        publisher,
                        gate,
                        topics,
                        options,
                        context.getProcessingTimeService(),
                        metrics);
        letters =
                new Letters(
                        lettersPublisher,
                        context.getMailboxExecutor(),
                        options,
                        metrics,
                        "pubsub-letters-" + subtask);
        metrics.register(
                counter -> publisher.state()[counter.ordinal()] + letters.counter(counter));
        rejections =
                new Rejections(
                        config.failedMessageHandler(),
                        options.maxConsecutiveRejections(),
                        publisher,
                        letters,
                        topics,
                        metrics,
                        context.getProcessingTimeService(),
                        subtask);
        watch =
                PublisherWatch.start(
                        publisher,
                        context.getMailboxExecutor(),
                        this::onEvents,
                        "pubsub-writer-" + subtask);
    }

    /** Opens the serializer and the native publisher. */
    public static <T> PubSubWriter<T> create(SinkConfig<T> config, WriterInitContext context)
            throws IOException {
        try {
            config.serializer().open(context.asSerializationSchemaInitializationContext());
        } catch (Exception e) {
            throw new IOException("the serializer cannot be opened: " + e, e);
        }
        NativeLibrary.load(context.getUserCodeClassLoader(), null);
        Publisher publisher = NativePublisher.open(nativeOptions(config));
        try {
            return create(
                    config, context, publisher, () -> NativePublisher.open(lettersOptions(config)));
        } catch (Throwable t) {
            publisher.close(0);
            throw t;
        }
    }

    static <T> PubSubWriter<T> create(
            SinkConfig<T> config,
            WriterInitContext context,
            Publisher publisher,
            Letters.Opener lettersPublisher) {
        return new PubSubWriter<>(config, context, publisher, lettersPublisher);
    }

    static NativeOptions nativeOptions(SinkConfig<?> config) {
        NativeOptions options = clientOptions(config);
        boolean create = config.createDisposition() == CreateDisposition.CREATE_IF_NEEDED;
        if (create) {
            config.topicCreateOptions().addTo(options);
        }
        // To find the offender costs a request for each message of its batch.
        return options.put("isolate-rejected", !config.failsJobOnRejection())
                .put("create-topics", create);
    }

    /** What a handler publishes goes to topics that exist, and any failure of it is the job's. */
    static NativeOptions lettersOptions(SinkConfig<?> config) {
        return clientOptions(config).put("isolate-rejected", false).put("create-topics", false);
    }

    private static NativeOptions clientOptions(SinkConfig<?> config) {
        NativeOptions options = new NativeOptions();
        config.connection().addTo(options);
        config.publisherOptions().addTo(options);
        return options;
    }

    @Override
    public void write(T element, Context context) throws IOException, InterruptedException {
        try {
            records++;
            letters.awaitRoom();
            message.clear();
            TopicDestination topic = prepare(element, context);
            if (topic != null) {
                enqueue(topic);
            }
        } catch (Throwable t) {
            failed = true;
            throw t;
        }
    }

    /** Fills the message; answers its topic, or null when there is nothing to publish. */
    @Nullable
    private TopicDestination prepare(T element, Context context)
            throws IOException, InterruptedException {
        String what = "serializer";
        try {
            if (!serializer.serialize(element, context, message)) {
                metrics.recordSkipped();
                return null;
            }
            what = "destinationResolver";
            TopicDestination topic = destinations.resolve(element, context);
            if (topic == null) {
                throw new IllegalStateException("it answered null instead of a topic");
            }
            return topic;
        } catch (InterruptedException e) {
            throw e;
        } catch (Exception e) {
            String text = "the " + what + " failed at " + position(context) + ": " + e;
            rejections.reject(
                    new FailedMessage(
                            null,
                            Collections.emptyMap(),
                            null,
                            null,
                            new PubSubException(Status.INVALID_ARGUMENT, null, text, e)));
            return null;
        }
    }

    private void enqueue(TopicDestination topic) throws IOException, InterruptedException {
        OrderingCheck.check(options, topic, message);
        int size;
        try {
            size = outbox.measure(message);
        } catch (InvalidMessageException e) {
            rejections.reject(refusedLocally(topic, e));
            return;
        }
        rejections.accepted();
        outbox.add(message, topics.number(topic), size);
    }

    private FailedMessage refusedLocally(TopicDestination topic, InvalidMessageException cause) {
        int offset = message.payloadOffset();
        Map<String, String> attributes = new LinkedHashMap<>();
        for (int i = 0; i < message.attributeCount(); i++) {
            attributes.put(message.attributeName(i), message.attributeValue(i));
        }
        return new FailedMessage(
                Arrays.copyOfRange(message.payload(), offset, offset + message.payloadLength()),
                attributes,
                message.orderingKey(),
                topic,
                new PubSubException(
                        Status.INVALID_ARGUMENT, topic.path(), cause.getMessage(), cause));
    }

    private String position(Context context) {
        return "record "
                + records
                + " of subtask "
                + subtask
                + " (timestamp "
                + context.timestamp()
                + ")";
    }

    /** Returns when every record before it is on the service, skipped, or with the handler. */
    @Override
    public void flush(boolean endOfInput) throws IOException, InterruptedException {
        try {
            outbox.handOver();
            publisher.flush();
            gate.await(0, 0, 0);
            drainFailures();
            // Only now has the handler seen every failure.
            letters.flush();
        } catch (Throwable t) {
            failed = true;
            throw t;
        }
    }

    private void onEvents(int events) throws IOException, InterruptedException {
        try {
            if ((events & Publisher.FAILURE) != 0) {
                drainFailures();
            }
            if ((events & Publisher.TARGET_REACHED) != 0) {
                gate.targetReached();
            }
        } catch (Throwable t) {
            failed = true;
            throw t;
        }
    }

    private void drainFailures() throws IOException, InterruptedException {
        byte[] descriptor;
        while ((descriptor = publisher.takeFailure()) != null) {
            PublishFailure failure = PublishFailure.parse(descriptor);
            if (failure.terminal()) {
                TopicDestination topic = topics.destination(failure.topic());
                metrics.failed(failure.status(), topic);
                throw new PubSubException(
                        failure.status(), topic == null ? null : topic.path(), failure.text());
            }
            rejections.refused(failure);
        }
    }

    @Override
    public void close() throws IOException {
        if (closed) {
            return;
        }
        closed = true;
        long end = System.nanoTime() + options.shutdownTimeout().toNanos();
        try {
            if (!failed && !letters.hasFailed()) {
                outbox.handOverAtOnce();
                FinalFlush.await(publisher, end);
                letters.finish(end);
            }
        } finally {
            try {
                publisher.close(0);
            } finally {
                watch.close();
                letters.close();
            }
        }
    }
}

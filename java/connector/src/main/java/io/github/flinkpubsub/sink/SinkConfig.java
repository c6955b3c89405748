package io.github.flinkpubsub.sink;

import io.github.flinkpubsub.ConnectionOptions;
import io.github.flinkpubsub.PubSubSerializationSchema;

import org.apache.flink.annotation.Internal;

import java.io.Serializable;

/**
 * What a sink was built with.
 *
 * @param <T> the records' type
 */
@Internal
public final class SinkConfig<T> implements Serializable {

    private static final long serialVersionUID = 1L;

    private final DestinationResolver<T> destination;
    private final PubSubSerializationSchema<T> serializer;
    private final CreateDisposition createDisposition;
    private final TopicCreateOptions topicCreateOptions;
    private final FailedMessageHandler failedMessageHandler;
    private final PubSubPublisherOptions publisherOptions;
    private final ConnectionOptions connection;

    public SinkConfig(
            DestinationResolver<T> destination,
            PubSubSerializationSchema<T> serializer,
            CreateDisposition createDisposition,
            TopicCreateOptions topicCreateOptions,
            FailedMessageHandler failedMessageHandler,
            PubSubPublisherOptions publisherOptions,
            ConnectionOptions connection) {
        this.destination = destination;
        this.serializer = serializer;
        this.createDisposition = createDisposition;
        this.topicCreateOptions = topicCreateOptions;
        this.failedMessageHandler = failedMessageHandler;
        this.publisherOptions = publisherOptions;
        this.connection = connection;
    }

    public DestinationResolver<T> destination() {
        return destination;
    }

    public PubSubSerializationSchema<T> serializer() {
        return serializer;
    }

    public CreateDisposition createDisposition() {
        return createDisposition;
    }

    public TopicCreateOptions topicCreateOptions() {
        return topicCreateOptions;
    }

    public FailedMessageHandler failedMessageHandler() {
        return failedMessageHandler;
    }

    /**
     * Whether a refused message fails the job, so that there is no need to find out which it was.
     */
    public boolean failsJobOnRejection() {
        return failedMessageHandler instanceof FailJob;
    }

    public PubSubPublisherOptions publisherOptions() {
        return publisherOptions;
    }

    public ConnectionOptions connection() {
        return connection;
    }
}

package io.github.flinkpubsub.sink;

import io.github.flinkpubsub.AccessTokenProvider;
import io.github.flinkpubsub.ConnectionOptions;
import io.github.flinkpubsub.OptionChecks;
import io.github.flinkpubsub.PubSubSerializationSchema;
import io.github.flinkpubsub.TopicDestination;

import org.apache.flink.annotation.PublicEvolving;
import org.apache.flink.api.connector.sink2.SinkWriter;

import javax.annotation.Nullable;

/**
 * Builds a {@link PubSubSink}. A serializer and either a topic or a destination resolver are
 * required.
 *
 * @param <T> the records' type
 */
@PublicEvolving
public final class PubSubSinkBuilder<T> {

    private final ConnectionOptions.Builder connection = ConnectionOptions.builder();
    @Nullable private TopicDestination topic;
    @Nullable private DestinationResolver<T> destinationResolver;
    @Nullable private PubSubSerializationSchema<T> serializer;
    private CreateDisposition createDisposition = CreateDisposition.CREATE_IF_NEEDED;
    @Nullable private TopicCreateOptions topicCreateOptions;
    private FailedMessageHandler failedMessageHandler = FailedMessageHandler.failJob();
    private PubSubPublisherOptions publisherOptions = PubSubPublisherOptions.defaults();

    PubSubSinkBuilder() {}

    /** The one topic of all records. */
    public PubSubSinkBuilder<T> topic(TopicDestination topic) {
        this.topic = OptionChecks.notNull("topic", topic);
        return this;
    }

    /** Chooses a topic for each record. */
    public PubSubSinkBuilder<T> destinationResolver(DestinationResolver<T> resolver) {
        destinationResolver = OptionChecks.notNull("destinationResolver", resolver);
        return this;
    }

    /** Makes messages of records. */
    public PubSubSinkBuilder<T> serializer(PubSubSerializationSchema<T> schema) {
        serializer = OptionChecks.notNull("serializer", schema);
        return this;
    }

    /**
     * What happens when a topic does not exist; default {@link CreateDisposition#CREATE_IF_NEEDED}.
     */
    public PubSubSinkBuilder<T> createDisposition(CreateDisposition disposition) {
        createDisposition = OptionChecks.notNull("createDisposition", disposition);
        return this;
    }

    /**
     * The settings of topics that are created; by default the service's. Refused with {@link
     * CreateDisposition#CREATE_NEVER}.
     */
    public PubSubSinkBuilder<T> topicCreateOptions(TopicCreateOptions options) {
        topicCreateOptions = OptionChecks.notNull("topicCreateOptions", options);
        return this;
    }

    /** Decides on messages that fail; default {@link FailedMessageHandler#failJob()}. */
    public PubSubSinkBuilder<T> failedMessageHandler(FailedMessageHandler handler) {
        failedMessageHandler = OptionChecks.notNull("failedMessageHandler", handler);
        return this;
    }

    /** How messages are published; default {@link PubSubPublisherOptions#defaults()}. */
    public PubSubSinkBuilder<T> publisherOptions(PubSubPublisherOptions options) {
        publisherOptions = OptionChecks.notNull("publisherOptions", options);
        return this;
    }

    /** A regional or private endpoint, {@code host:port}; default the global one. */
    public PubSubSinkBuilder<T> endpoint(String hostPort) {
        connection.endpoint(hostPort);
        return this;
    }

    /**
     * An emulator, {@code host:port}: plaintext and without credentials. The environment variable
     * {@code PUBSUB_EMULATOR_HOST} has no influence.
     */
    public PubSubSinkBuilder<T> emulatorEndpoint(String hostPort) {
        connection.emulatorEndpoint(hostPort);
        return this;
    }

    /**
     * The key file of a service account, read on each task manager; default Application Default
     * Credentials.
     */
    public PubSubSinkBuilder<T> serviceAccountKeyFile(String path) {
        connection.serviceAccountKeyFile(path);
        return this;
    }

    /**
     * Gets access tokens where neither Application Default Credentials nor a key file will do.
     * Excludes {@link #serviceAccountKeyFile} and {@link #emulatorEndpoint}.
     */
    public PubSubSinkBuilder<T> accessTokenProvider(AccessTokenProvider provider) {
        connection.accessTokenProvider(provider);
        return this;
    }

    /** The project that quota and billing are counted for; default the credentials' own. */
    public PubSubSinkBuilder<T> quotaProject(String project) {
        connection.quotaProject(project);
        return this;
    }

    /** Certificates to trust, a PEM file on each task manager; default the system's. */
    public PubSubSinkBuilder<T> caCertificateFile(String path) {
        connection.caCertificateFile(path);
        return this;
    }

    /**
     * Builds the sink.
     *
     * @throws IllegalArgumentException when an option is missing or two contradict each other;
     *     names them
     */
    public PubSubSink<T> build() {
        if (topic == null && destinationResolver == null) {
            throw new IllegalArgumentException(
                    "topic is missing: set it with topic(…), or set destinationResolver(…)");
        }
        if (topic != null && destinationResolver != null) {
            throw new IllegalArgumentException(
                    "topic and destinationResolver exclude each other: set one of the two");
        }
        if (serializer == null) {
            throw new IllegalArgumentException("serializer is missing: set it with serializer(…)");
        }
        if (topicCreateOptions != null && createDisposition == CreateDisposition.CREATE_NEVER) {
            throw new IllegalArgumentException(
                    "topicCreateOptions has no meaning with createDisposition CREATE_NEVER: remove"
                            + " one of the two");
        }
        return new PubSubSink<>(
                new SinkConfig<>(
                        topic == null ? destinationResolver : new OneTopic<>(topic),
                        serializer,
                        createDisposition,
                        topicCreateOptions == null
                                ? TopicCreateOptions.builder().build()
                                : topicCreateOptions,
                        failedMessageHandler,
                        publisherOptions,
                        connection.build()));
    }

    static final class OneTopic<T> implements DestinationResolver<T> {

        private static final long serialVersionUID = 1L;

        private final TopicDestination topic;

        OneTopic(TopicDestination topic) {
            this.topic = topic;
        }

        TopicDestination topic() {
            return topic;
        }

        @Override
        public TopicDestination resolve(T element, SinkWriter.Context context) {
            return topic;
        }
    }
}

package io.github.flinkpubsub.compat;

import com.google.auth.Credentials;

import io.github.flinkpubsub.OptionChecks;
import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.source.enumerator.PubSubEnumeratorState;
import io.github.flinkpubsub.source.enumerator.PubSubEnumeratorStateSerializer;
import io.github.flinkpubsub.source.reader.CheckpointingProbe;
import io.github.flinkpubsub.source.split.PubSubSplit;
import io.github.flinkpubsub.source.split.PubSubSplitSerializer;

import org.apache.flink.annotation.PublicEvolving;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.java.typeutils.ResultTypeQueryable;
import org.apache.flink.core.io.SimpleVersionedSerializer;

import java.io.IOException;
import java.time.Duration;

import javax.annotation.Nullable;

/**
 * Reads a Pub/Sub subscription, built as Apache's source is. A message is acknowledged when a
 * checkpoint that holds its effects has completed; without checkpointing the source does not start.
 *
 * <p>It is a source of Flink's current kind: {@code env.fromSource(source,
 * WatermarkStrategy.noWatermarks(), "name")} takes the place of {@code env.addSource(source)}.
 * {@code docs/migration.md} says what is different.
 *
 * @param <OUT> the records' type
 */
@PublicEvolving
public class PubSubSource<OUT>
        implements Source<OUT, PubSubSplit, PubSubEnumeratorState>, ResultTypeQueryable<OUT> {

    private static final long serialVersionUID = 1L;

    private final SubscriptionDestination subscription;
    private final EndAwareSchema<OUT> schema;
    private final Delegate<OUT> delegate;

    PubSubSource(
            SubscriptionDestination subscription,
            EndAwareSchema<OUT> schema,
            Delegate<OUT> delegate) {
        this.subscription = subscription;
        this.schema = schema;
        this.delegate = delegate;
    }

    /** Starts on a source. */
    public static DeserializationSchemaBuilder newBuilder() {
        return new DeserializationSchemaBuilder();
    }

    /** Unbounded, although a record may end it. */
    @Override
    public Boundedness getBoundedness() {
        return Boundedness.CONTINUOUS_UNBOUNDED;
    }

    /**
     * @throws IllegalArgumentException when the job is known not to checkpoint
     */
    @Override
    public SourceReader<OUT, PubSubSplit> createReader(SourceReaderContext context)
            throws Exception {
        if (CheckpointingProbe.isOff(context)) {
            throw new IllegalArgumentException(
                    "PubSubSource needs checkpointing, which acknowledges its messages: call"
                            + " env.enableCheckpointing(…) or set"
                            + " execution.checkpointing.interval");
        }
        return new EndableReader<>(delegate.createReader(context), schema, subscription, context);
    }

    @Override
    public SplitEnumerator<PubSubSplit, PubSubEnumeratorState> createEnumerator(
            SplitEnumeratorContext<PubSubSplit> context) throws Exception {
        return new EndableEnumerator(delegate.createEnumerator(context, null), context);
    }

    @Override
    public SplitEnumerator<PubSubSplit, PubSubEnumeratorState> restoreEnumerator(
            SplitEnumeratorContext<PubSubSplit> context, PubSubEnumeratorState state)
            throws Exception {
        return new EndableEnumerator(delegate.createEnumerator(context, state), context);
    }

    @Override
    public SimpleVersionedSerializer<PubSubSplit> getSplitSerializer() {
        return new PubSubSplitSerializer();
    }

    @Override
    public SimpleVersionedSerializer<PubSubEnumeratorState> getEnumeratorCheckpointSerializer() {
        return new PubSubEnumeratorStateSerializer();
    }

    @Override
    public TypeInformation<OUT> getProducedType() {
        return schema.getProducedType();
    }

    /** The first step of the builder: what messages are decoded with. */
    @PublicEvolving
    public static class DeserializationSchemaBuilder {

        DeserializationSchemaBuilder() {}

        /** Decodes payloads with a schema of Flink's. */
        public <OUT> ProjectNameBuilder<OUT> withDeserializationSchema(
                DeserializationSchema<OUT> deserializationSchema) {
            return new PubSubSourceBuilder<>(
                    new PayloadSchema<>(
                            OptionChecks.notNull("deserializationSchema", deserializationSchema)));
        }

        /** Decodes messages with a schema that sees the whole message. */
        public <OUT> ProjectNameBuilder<OUT> withDeserializationSchema(
                PubSubDeserializationSchema<OUT> deserializationSchema) {
            return new PubSubSourceBuilder<>(
                    OptionChecks.notNull("deserializationSchema", deserializationSchema));
        }
    }

    /**
     * The second step of the builder.
     *
     * @param <OUT> the records' type
     */
    @PublicEvolving
    public interface ProjectNameBuilder<OUT> {

        /** The project of the subscription. */
        SubscriptionNameBuilder<OUT> withProjectName(String projectName);
    }

    /**
     * The third step of the builder.
     *
     * @param <OUT> the records' type
     */
    @PublicEvolving
    public interface SubscriptionNameBuilder<OUT> {

        /** The id of the subscription, which must exist. */
        PubSubSourceBuilder<OUT> withSubscriptionName(String subscriptionName);
    }

    /**
     * The optional steps of the builder.
     *
     * @param <OUT> the records' type
     */
    @PublicEvolving
    public static class PubSubSourceBuilder<OUT>
            implements ProjectNameBuilder<OUT>, SubscriptionNameBuilder<OUT> {

        private final PubSubDeserializationSchema<OUT> schema;
        @Nullable private String projectName;
        @Nullable private String subscriptionName;
        @Nullable private Credentials credentials;
        @Nullable private PubSubSubscriberFactory subscriberFactory;
        @Nullable private PullSettings pullSettings;
        private int messagesPerSecond = 100_000;
        @Nullable private String endpoint;
        @Nullable private String caCertificateFile;

        PubSubSourceBuilder(PubSubDeserializationSchema<OUT> schema) {
            this.schema = schema;
        }

        @Override
        public SubscriptionNameBuilder<OUT> withProjectName(String projectName) {
            this.projectName = OptionChecks.notBlank("projectName", projectName);
            return this;
        }

        @Override
        public PubSubSourceBuilder<OUT> withSubscriptionName(String subscriptionName) {
            this.subscriptionName = OptionChecks.notBlank("subscriptionName", subscriptionName);
            return this;
        }

        /**
         * The identity to read with. The object travels with the job in its serialized form, with
         * what secrets it holds; each task manager gets tokens from it and hands them to the native
         * client before they expire. By default, and with null, Application Default Credentials of
         * each task manager.
         */
        public PubSubSourceBuilder<OUT> withCredentials(@Nullable Credentials credentials) {
            this.credentials = credentials;
            return this;
        }

        /**
         * Reads with clients of one's own instead of the native one, or, with a {@link
         * PubSubSubscriberFactoryForEmulator}, an emulator. Null goes back to the native one.
         */
        public PubSubSourceBuilder<OUT> withPubSubSubscriberFactory(
                @Nullable PubSubSubscriberFactory pubSubSubscriberFactory) {
            subscriberFactory = pubSubSubscriberFactory;
            pullSettings = null;
            return this;
        }

        /**
         * Tunes the native client, which streams messages instead of pulling them.
         *
         * @param maxMessagesPerPull the most messages handed to the task at once
         * @param perRequestTimeout how long one attempt at an acknowledgement may take
         * @param retries says together with {@code perRequestTimeout} for how long a service that
         *     cannot be reached when the reader starts is tried before the job fails: {@code
         *     (retries + 1) × perRequestTimeout}
         */
        public PubSubSourceBuilder<OUT> withPubSubSubscriberFactory(
                int maxMessagesPerPull, Duration perRequestTimeout, int retries) {
            pullSettings = new PullSettings(maxMessagesPerPull, perRequestTimeout, retries);
            subscriberFactory = null;
            return this;
        }

        /**
         * Limits the messages of each subtask.
         *
         * @param messagePerSecondRateLimit at least 1; default 100,000
         */
        public PubSubSourceBuilder<OUT> withMessageRateLimit(int messagePerSecondRateLimit) {
            messagesPerSecond =
                    OptionChecks.within(
                            "messagePerSecondRateLimit",
                            messagePerSecondRateLimit,
                            1,
                            Integer.MAX_VALUE);
            return this;
        }

        /** A server of a test, over TLS. */
        PubSubSourceBuilder<OUT> server(String endpoint, String caCertificateFile) {
            this.endpoint = endpoint;
            this.caCertificateFile = caCertificateFile;
            return this;
        }

        /**
         * Builds the source.
         *
         * @throws IllegalArgumentException when a required field is missing; names it. Whether the
         *     job checkpoints is known only when it starts, and then it fails with this exception.
         * @throws IOException never; code that is moved over handles it
         */
        public PubSubSource<OUT> build() throws IOException {
            SubscriptionDestination subscription =
                    SubscriptionDestination.of(
                            OptionChecks.notBlank("projectName", projectName),
                            OptionChecks.notBlank("subscriptionName", subscriptionName));
            EndAwareSchema<OUT> endAware = new EndAwareSchema<>(schema);
            if (subscriberFactory != null
                    && !(subscriberFactory instanceof PubSubSubscriberFactoryForEmulator)) {
                return new PubSubSource<>(
                        subscription,
                        endAware,
                        new PullDelegate<>(
                                subscription,
                                endAware,
                                subscriberFactory,
                                credentials,
                                messagesPerSecond));
            }
            PubSubSubscriberFactoryForEmulator emulator =
                    (PubSubSubscriberFactoryForEmulator) subscriberFactory;
            if (emulator != null) {
                subscription = emulator.subscription();
                pullSettings = emulator.settings();
            }
            io.github.flinkpubsub.source.PubSubSourceBuilder<OUT> builder =
                    io.github.flinkpubsub.source.PubSubSource.<OUT>builder()
                            .subscription(subscription)
                            .deserializer(endAware)
                            .messageRateLimit(messagesPerSecond);
            if (pullSettings != null) {
                pullSettings.applyTo(builder);
            }
            if (emulator != null) {
                builder.emulatorEndpoint(emulator.hostAndPort());
            } else if (credentials != null) {
                builder.accessTokenProvider(CredentialsTokens.of(credentials));
            }
            if (endpoint != null) {
                builder.endpoint(endpoint).caCertificateFile(caCertificateFile);
            }
            return new PubSubSource<>(
                    subscription, endAware, new NativeDelegate<>(builder.build()));
        }
    }
}

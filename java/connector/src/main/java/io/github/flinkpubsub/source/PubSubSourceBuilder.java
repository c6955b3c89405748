package io.github.flinkpubsub.source;

import io.github.flinkpubsub.AccessTokenProvider;
import io.github.flinkpubsub.ConnectionOptions;
import io.github.flinkpubsub.OptionChecks;
import io.github.flinkpubsub.PubSubDeserializationSchema;
import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.source.reader.PayloadSchemas;

import org.apache.flink.annotation.Internal;
import org.apache.flink.annotation.PublicEvolving;
import org.apache.flink.api.common.serialization.DeserializationSchema;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import javax.annotation.Nullable;

/**
 * Builds a {@link PubSubSource}. Subscription and deserializer are required.
 *
 * @param <T> the records' type
 */
@PublicEvolving
public final class PubSubSourceBuilder<T> {

    private final List<SubscriptionDestination> subscriptions = new ArrayList<>();
    private final Map<SubscriptionDestination, SubscriptionCreateOptions> createOptions =
            new HashMap<>();
    private final Map<TopicDestination, SubscriptionDestination> ownSubscriptions =
            new LinkedHashMap<>();
    private final ConnectionOptions.Builder connection = ConnectionOptions.builder();
    private StartPosition startPosition = StartPosition.continueFromSubscription();
    @Nullable private PubSubDeserializationSchema<T> deserializer;
    private OrderingMode orderingMode = OrderingMode.NONE;
    private DeserializationFailurePolicy failurePolicy = DeserializationFailurePolicy.FAIL;
    @Nullable private String timestampAttribute;
    @Nullable private StopCondition stopCondition;
    private PubSubSubscriberOptions subscriberOptions = PubSubSubscriberOptions.defaults();
    private int messageRateLimit;
    @Nullable private Duration requestTimeout;
    @Nullable private Duration connectLimit;

    PubSubSourceBuilder() {}

    /** Adds a subscription, which must exist. One that is named twice is refused. */
    public PubSubSourceBuilder<T> subscription(SubscriptionDestination subscription) {
        OptionChecks.notNull("subscription", subscription);
        if (subscriptions.contains(subscription)) {
            throw new IllegalArgumentException(
                    "subscription " + subscription + " is given more than once");
        }
        subscriptions.add(subscription);
        return this;
    }

    /**
     * Adds a subscription, which is created with these settings when the job starts and it does not
     * exist. The settings name the topic, so they belong to one subscription.
     */
    public PubSubSourceBuilder<T> subscription(
            SubscriptionDestination subscription, SubscriptionCreateOptions options) {
        OptionChecks.notNull("the options of subscription " + subscription, options);
        subscription(subscription);
        createOptions.put(subscription, options);
        return this;
    }

    /** Adds subscriptions, which must exist. One that is named twice is refused. */
    public PubSubSourceBuilder<T> subscriptions(Collection<SubscriptionDestination> subscriptions) {
        OptionChecks.notNull("subscriptions", subscriptions).forEach(this::subscription);
        return this;
    }

    /**
     * Reads a topic through a subscription that is created for this job. It gets what is published
     * after the job has started. Its name is in the checkpoints, so a restored job goes on with it.
     * It is deleted when the job has ended for good, as far as Flink tells: see {@code
     * docs/source.md}. Otherwise it expires after a day without a reader.
     */
    public PubSubSourceBuilder<T> fromTopic(TopicDestination topic) {
        OptionChecks.notNull("fromTopic", topic);
        return fromTopic(SubscriptionCreateOptions.builder().topic(topic).build());
    }

    /**
     * Reads a topic as {@link #fromTopic(TopicDestination)} does, through a subscription with these
     * settings. Without {@code expirationTtl} and {@code neverExpire} it expires after a day.
     */
    public PubSubSourceBuilder<T> fromTopic(SubscriptionCreateOptions options) {
        TopicDestination topic = OptionChecks.notNull("fromTopic", options).topic();
        if (ownSubscriptions.containsKey(topic)) {
            throw new IllegalArgumentException(
                    "fromTopic is given more than once for topic " + topic);
        }
        SubscriptionDestination name = OwnSubscriptions.name(topic);
        ownSubscriptions.put(topic, name);
        return subscription(name, options.orExpiration(OwnSubscriptions.EXPIRATION));
    }

    /**
     * Decodes payloads with a schema of Flink's. Its {@code isEndOfStream} is not asked: a
     * subscription has no end.
     */
    public PubSubSourceBuilder<T> deserializer(DeserializationSchema<T> schema) {
        deserializer = PayloadSchemas.of(OptionChecks.notNull("deserializer", schema));
        return this;
    }

    /** Decodes messages with a schema that sees attributes, ordering key and the like. */
    public PubSubSourceBuilder<T> deserializer(PubSubDeserializationSchema<T> schema) {
        deserializer = OptionChecks.notNull("deserializer", schema);
        return this;
    }

    /**
     * Where to start at the first start of the job; default {@link
     * StartPosition#continueFromSubscription()}. Every other position moves the subscriptions for
     * all their consumers.
     */
    public PubSubSourceBuilder<T> startPosition(StartPosition position) {
        startPosition = OptionChecks.notNull("startPosition", position);
        return this;
    }

    /** What is promised about the order of messages; default {@link OrderingMode#NONE}. */
    public PubSubSourceBuilder<T> orderingMode(OrderingMode mode) {
        orderingMode = OptionChecks.notNull("orderingMode", mode);
        return this;
    }

    /**
     * What becomes of a message that cannot be decoded; default {@link
     * DeserializationFailurePolicy#FAIL}.
     */
    public PubSubSourceBuilder<T> deserializationFailurePolicy(
            DeserializationFailurePolicy policy) {
        failurePolicy = OptionChecks.notNull("deserializationFailurePolicy", policy);
        return this;
    }

    /**
     * Takes the records' event time from an attribute, as RFC 3339 or as milliseconds since the
     * epoch. A message in which it is missing or unreadable is treated by the failure policy. By
     * default the event time is the publish time.
     */
    public PubSubSourceBuilder<T> timestampAttribute(String attribute) {
        timestampAttribute = OptionChecks.notBlank("timestampAttribute", attribute);
        return this;
    }

    /**
     * Makes the source bounded: it emits what was published before this time. A subscription has no
     * order, so the source ends when that time has come and nothing older has arrived for 10 s;
     * what comes to light later stays on the subscription. Messages published at or after the time
     * are left alone: other consumers get them when their leases run out, within about a minute.
     *
     * <p>What the source has emitted is acknowledged by checkpoints, the last one being the one
     * that Flink makes when the source has ended. A job in batch execution has none: there
     * everything is acknowledged when the source has ended and its task closes.
     */
    public PubSubSourceBuilder<T> stopAt(Instant publishTime) {
        return stop(StopCondition.at(OptionChecks.notNull("stopAt", publishTime)));
    }

    /**
     * Makes the source bounded: each reader ends when nothing has arrived for so long. See {@link
     * #stopAt} for what is acknowledged when.
     *
     * @param silence at least 1 s
     */
    public PubSubSourceBuilder<T> stopWhenIdle(Duration silence) {
        OptionChecks.within("stopWhenIdle", silence, Duration.ofSeconds(1), Duration.ofDays(365));
        return stop(StopCondition.whenIdle(silence));
    }

    private PubSubSourceBuilder<T> stop(StopCondition condition) {
        if (stopCondition != null) {
            throw new IllegalArgumentException(
                    "stopAt and stopWhenIdle exclude each other and are given once");
        }
        stopCondition = condition;
        return this;
    }

    /**
     * Lets each subtask emit at most so many messages a second, by Flink's own rate limiter; by
     * default there is no limit. What is not emitted waits in the buffer and then on the
     * subscription. After a pause, up to one second's messages may come at once.
     *
     * @param perSecond at least 1; the job's limit is this times the source's parallelism
     */
    public PubSubSourceBuilder<T> messageRateLimit(int perSecond) {
        messageRateLimit = OptionChecks.within("messageRateLimit", perSecond, 1, Integer.MAX_VALUE);
        return this;
    }

    /** How the subscriptions are read; default {@link PubSubSubscriberOptions#defaults()}. */
    public PubSubSourceBuilder<T> subscriberOptions(PubSubSubscriberOptions options) {
        subscriberOptions = OptionChecks.notNull("subscriberOptions", options);
        return this;
    }

    /** For builders of other connectors that have such settings; users need none of them. */
    @Internal
    public void requestLimits(Duration requestTimeout, Duration connectLimit) {
        this.requestTimeout = requestTimeout;
        this.connectLimit = connectLimit;
    }

    /** A regional or private endpoint, {@code host:port}; default the global one. */
    public PubSubSourceBuilder<T> endpoint(String hostPort) {
        connection.endpoint(hostPort);
        return this;
    }

    /**
     * An emulator, {@code host:port}: plaintext and without credentials. The environment variable
     * {@code PUBSUB_EMULATOR_HOST} has no influence.
     */
    public PubSubSourceBuilder<T> emulatorEndpoint(String hostPort) {
        connection.emulatorEndpoint(hostPort);
        return this;
    }

    /**
     * The key file of a service account, read on each task manager; default Application Default
     * Credentials.
     */
    public PubSubSourceBuilder<T> serviceAccountKeyFile(String path) {
        connection.serviceAccountKeyFile(path);
        return this;
    }

    /**
     * Gets access tokens where neither Application Default Credentials nor a key file will do.
     * Excludes {@link #serviceAccountKeyFile} and {@link #emulatorEndpoint}.
     */
    public PubSubSourceBuilder<T> accessTokenProvider(AccessTokenProvider provider) {
        connection.accessTokenProvider(provider);
        return this;
    }

    /** The project that quota and billing are counted for; default the credentials' own. */
    public PubSubSourceBuilder<T> quotaProject(String project) {
        connection.quotaProject(project);
        return this;
    }

    /** Certificates to trust, a PEM file on each task manager; default the system's. */
    public PubSubSourceBuilder<T> caCertificateFile(String path) {
        connection.caCertificateFile(path);
        return this;
    }

    /**
     * Builds the source.
     *
     * @throws IllegalArgumentException when an option is missing or two contradict each other;
     *     names them
     */
    public PubSubSource<T> build() {
        if (subscriptions.isEmpty()) {
            throw new IllegalArgumentException(
                    "subscription is missing: name at least one with subscription(…), or a topic"
                            + " with fromTopic(…)");
        }
        if (deserializer == null) {
            throw new IllegalArgumentException(
                    "deserializer is missing: set it with deserializer(…)");
        }
        if (orderingMode == OrderingMode.PER_KEY && subscriberOptions.parallelPullCount() > 1) {
            throw new IllegalArgumentException(
                    "parallelPullCount must be 1 with orderingMode PER_KEY, not "
                            + subscriberOptions.parallelPullCount()
                            + ": several streams would break the order");
        }
        return new PubSubSource<>(
                new SourceConfig(
                                subscriptions,
                                createOptions,
                                startPosition,
                                connection.build(),
                                subscriberOptions,
                                orderingMode,
                                failurePolicy,
                                timestampAttribute,
                                stopCondition)
                        .withOwnSubscriptions(ownSubscriptions)
                        .withMessageRateLimit(messageRateLimit)
                        .withRequestLimits(requestTimeout, connectLimit),
                deserializer);
    }
}

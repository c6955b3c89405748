package io.github.flinkpubsub.source;

import io.github.flinkpubsub.ConnectionOptions;
import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;

import org.apache.flink.annotation.Internal;

import java.io.Serializable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import javax.annotation.Nullable;

/** What a source was built with, apart from its schema. */
@Internal
public final class SourceConfig implements Serializable {

    private static final long serialVersionUID = 1L;

    private final ArrayList<SubscriptionDestination> subscriptions;
    private final HashMap<SubscriptionDestination, SubscriptionCreateOptions> createOptions;
    private final StartPosition startPosition;
    private final ConnectionOptions connection;
    private final PubSubSubscriberOptions subscriberOptions;
    private final OrderingMode orderingMode;
    private final DeserializationFailurePolicy failurePolicy;
    @Nullable private final String timestampAttribute;
    @Nullable private final StopCondition stopCondition;

    /** The subscriptions that the job has for itself, by their topics. */
    private LinkedHashMap<TopicDestination, SubscriptionDestination> ownSubscriptions =
            new LinkedHashMap<>();

    private int messageRateLimit;
    private boolean batchExecution;
    @Nullable private Duration requestTimeout;
    @Nullable private Duration connectLimit;

    public SourceConfig(
            List<SubscriptionDestination> subscriptions,
            Map<SubscriptionDestination, SubscriptionCreateOptions> createOptions,
            StartPosition startPosition,
            ConnectionOptions connection,
            PubSubSubscriberOptions subscriberOptions,
            OrderingMode orderingMode,
            DeserializationFailurePolicy failurePolicy,
            @Nullable String timestampAttribute,
            @Nullable StopCondition stopCondition) {
        this.subscriptions = new ArrayList<>(subscriptions);
        this.createOptions = new HashMap<>(createOptions);
        this.startPosition = startPosition;
        this.connection = connection;
        this.subscriberOptions = subscriberOptions;
        this.orderingMode = orderingMode;
        this.failurePolicy = failurePolicy;
        this.timestampAttribute = timestampAttribute;
        this.stopCondition = stopCondition;
    }

    private SourceConfig copy() {
        return copy(subscriptions, createOptions);
    }

    private SourceConfig copy(
            List<SubscriptionDestination> subscriptions,
            Map<SubscriptionDestination, SubscriptionCreateOptions> createOptions) {
        SourceConfig copy =
                new SourceConfig(
                        subscriptions,
                        createOptions,
                        startPosition,
                        connection,
                        subscriberOptions,
                        orderingMode,
                        failurePolicy,
                        timestampAttribute,
                        stopCondition);
        copy.ownSubscriptions = ownSubscriptions;
        copy.messageRateLimit = messageRateLimit;
        copy.batchExecution = batchExecution;
        copy.requestTimeout = requestTimeout;
        copy.connectLimit = connectLimit;
        return copy;
    }

    /** This, and a limit of messages a second and subtask; 0 for none. */
    public SourceConfig withMessageRateLimit(int perSecond) {
        SourceConfig copy = copy();
        copy.messageRateLimit = perSecond;
        return copy;
    }

    /** This, and limits of the native client's requests; null for its own. */
    public SourceConfig withRequestLimits(
            @Nullable Duration requestTimeout, @Nullable Duration connectLimit) {
        SourceConfig copy = copy();
        copy.requestTimeout = requestTimeout;
        copy.connectLimit = connectLimit;
        return copy;
    }

    /** This, known to run in batch execution, which not every version of Flink tells a reader. */
    public SourceConfig withBatchExecution() {
        SourceConfig copy = copy();
        copy.batchExecution = true;
        return copy;
    }

    /** Whether the job is known to run in batch execution. */
    public boolean batchExecution() {
        return batchExecution;
    }

    /** This, and which of its subscriptions the job has for itself, by their topics. */
    public SourceConfig withOwnSubscriptions(Map<TopicDestination, SubscriptionDestination> own) {
        SourceConfig copy = copy();
        copy.ownSubscriptions = new LinkedHashMap<>(own);
        return copy;
    }

    /**
     * This, with the subscriptions that the job has had for itself before a restore in place of
     * those that were named anew when its graph was built.
     */
    public SourceConfig resuming(Map<TopicDestination, SubscriptionDestination> before) {
        List<SubscriptionDestination> names = new ArrayList<>(subscriptions);
        Map<SubscriptionDestination, SubscriptionCreateOptions> options =
                new HashMap<>(createOptions);
        LinkedHashMap<TopicDestination, SubscriptionDestination> own =
                new LinkedHashMap<>(ownSubscriptions);
        ownSubscriptions.forEach(
                (topic, planned) -> {
                    SubscriptionDestination known = before.get(topic);
                    if (known != null && !known.equals(planned)) {
                        names.set(names.indexOf(planned), known);
                        options.put(known, options.remove(planned));
                        own.put(topic, known);
                    }
                });
        SourceConfig resumed = copy(names, options);
        resumed.ownSubscriptions = own;
        return resumed;
    }

    /** The subscriptions that the job has for itself, by their topics. */
    public Map<TopicDestination, SubscriptionDestination> ownSubscriptions() {
        return Collections.unmodifiableMap(ownSubscriptions);
    }

    public List<SubscriptionDestination> subscriptions() {
        return Collections.unmodifiableList(subscriptions);
    }

    /** The settings to create a subscription with; null when it must exist. */
    @Nullable
    public SubscriptionCreateOptions createOptions(SubscriptionDestination subscription) {
        return createOptions.get(subscription);
    }

    public StartPosition startPosition() {
        return startPosition;
    }

    public ConnectionOptions connection() {
        return connection;
    }

    public PubSubSubscriberOptions subscriberOptions() {
        return subscriberOptions;
    }

    public OrderingMode orderingMode() {
        return orderingMode;
    }

    public DeserializationFailurePolicy failurePolicy() {
        return failurePolicy;
    }

    /** The attribute that holds the event time; null for the publish time. */
    @Nullable
    public String timestampAttribute() {
        return timestampAttribute;
    }

    /** When the source ends; null for never. */
    @Nullable
    public StopCondition stopCondition() {
        return stopCondition;
    }

    /** How many messages a subtask emits in a second; 0 for as many as it can. */
    public int messageRateLimit() {
        return messageRateLimit;
    }

    /** What one attempt at an acknowledgement may take; null for the native client's default. */
    @Nullable
    public Duration requestTimeout() {
        return requestTimeout;
    }

    /** How long to try to reach the service; null for the native client's default. */
    @Nullable
    public Duration connectLimit() {
        return connectLimit;
    }
}

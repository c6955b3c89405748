package io.github.flinkpubsub.source;

import io.github.flinkpubsub.ConnectionOptions;
import io.github.flinkpubsub.SubscriptionDestination;

import org.apache.flink.annotation.Internal;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
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

    private int messageRateLimit;

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
        copy.messageRateLimit = messageRateLimit;
        return copy;
    }

    /** This, and a limit of messages a second and subtask; 0 for none. */
    public SourceConfig withMessageRateLimit(int perSecond) {
        SourceConfig copy = copy();
        copy.messageRateLimit = perSecond;
        return copy;
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
}

package io.github.flinkpubsub.source.enumerator;

import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;

import org.apache.flink.annotation.Internal;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/**
 * What a restored job must know: the subscriptions that it has been reading. They are not moved to
 * the start position again.
 */
@Internal
public final class PubSubEnumeratorState {

    private final Set<SubscriptionDestination> subscriptions;
    private final Map<TopicDestination, SubscriptionDestination> ownSubscriptions;

    public PubSubEnumeratorState(Set<SubscriptionDestination> subscriptions) {
        this(subscriptions, Collections.emptyMap());
    }

    public PubSubEnumeratorState(
            Set<SubscriptionDestination> subscriptions,
            Map<TopicDestination, SubscriptionDestination> ownSubscriptions) {
        this.subscriptions = Collections.unmodifiableSet(new LinkedHashSet<>(subscriptions));
        this.ownSubscriptions = Collections.unmodifiableMap(new LinkedHashMap<>(ownSubscriptions));
    }

    /** The subscriptions that readers have been attached to, in the order of the builder. */
    public Set<SubscriptionDestination> subscriptions() {
        return subscriptions;
    }

    /** The subscriptions that the job has for itself, by their topics. */
    public Map<TopicDestination, SubscriptionDestination> ownSubscriptions() {
        return ownSubscriptions;
    }
}

package io.github.flinkpubsub.source.enumerator;

import io.github.flinkpubsub.SubscriptionDestination;

import org.apache.flink.annotation.Internal;

import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * What a restored job must know: the subscriptions that it has been reading. They are not moved to
 * the start position again.
 */
@Internal
public final class PubSubEnumeratorState {

    private final Set<SubscriptionDestination> subscriptions;

    public PubSubEnumeratorState(Set<SubscriptionDestination> subscriptions) {
        this.subscriptions = Collections.unmodifiableSet(new LinkedHashSet<>(subscriptions));
    }

    /** The subscriptions that readers have been attached to, in the order of the builder. */
    public Set<SubscriptionDestination> subscriptions() {
        return subscriptions;
    }
}

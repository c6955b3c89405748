package io.github.flinkpubsub.source.split;

import io.github.flinkpubsub.SubscriptionDestination;

import org.apache.flink.annotation.Internal;
import org.apache.flink.api.connector.source.SourceSplit;

/**
 * One consumer of one subscription. It holds no position: the service knows what is acknowledged.
 */
@Internal
public final class PubSubSplit implements SourceSplit {

    private final SubscriptionDestination subscription;
    private final int index;

    /**
     * @param index tells the consumers of one subscription apart, from 0
     */
    public PubSubSplit(SubscriptionDestination subscription, int index) {
        this.subscription = subscription;
        this.index = index;
    }

    public SubscriptionDestination subscription() {
        return subscription;
    }

    public int index() {
        return index;
    }

    /** Such as {@code projects/p/subscriptions/s#0}. */
    @Override
    public String splitId() {
        return subscription.path() + "#" + index;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof PubSubSplit
                && subscription.equals(((PubSubSplit) other).subscription)
                && index == ((PubSubSplit) other).index;
    }

    @Override
    public int hashCode() {
        return 31 * subscription.hashCode() + index;
    }

    @Override
    public String toString() {
        return splitId();
    }
}

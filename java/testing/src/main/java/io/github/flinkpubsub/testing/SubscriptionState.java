package io.github.flinkpubsub.testing;

import java.util.Collections;
import java.util.List;

/** A subscription at a glance. */
public final class SubscriptionState {
    private String name;
    private String topic;
    private Counts counts;
    private List<Object> streams = Collections.emptyList();

    private SubscriptionState() {}

    /** Its full name. */
    public String name() {
        return name;
    }

    /** The full name of its topic. */
    public String topic() {
        return topic;
    }

    /** Open streams. */
    public int streams() {
        return streams.size();
    }

    /** Messages that wait to be delivered; outstanding ones do not count. */
    public long backlog() {
        return counts.backlog;
    }

    /** Messages that are delivered and leased. */
    public long outstanding() {
        return counts.outstanding;
    }

    /**
     * Acks that took effect, since the subscription exists; the numbers below count from then, too.
     */
    public long acked() {
        return counts.acked;
    }

    /** Deliveries. */
    public long delivered() {
        return counts.delivered;
    }

    /** Nacks. */
    public long nacked() {
        return counts.nacked;
    }

    /** Leases that expired. */
    public long expired() {
        return counts.expired;
    }

    /** Messages forwarded to the dead-letter topic. */
    public long deadLettered() {
        return counts.deadLettered;
    }

    /** Messages that the filter left out. */
    public long filtered() {
        return counts.filtered;
    }

    private static final class Counts {
        private long backlog;
        private long outstanding;
        private long acked;
        private long delivered;
        private long nacked;
        private long expired;
        private long deadLettered;
        private long filtered;
    }
}

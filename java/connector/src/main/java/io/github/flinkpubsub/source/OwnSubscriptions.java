package io.github.flinkpubsub.source;

import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;

import java.time.Duration;
import java.util.UUID;

/** The subscriptions that jobs have for themselves. */
final class OwnSubscriptions {

    /** The shortest that the service takes. */
    static final Duration EXPIRATION = Duration.ofDays(1);

    /** Leaves room for the rest of the name: an id has at most 255 characters. */
    private static final int LONGEST_TOPIC = 200;

    private OwnSubscriptions() {}

    /**
     * A name that no other job has. It is given when the graph is built, so that a job that is
     * started over before its first checkpoint finds the subscription that it has created.
     */
    static SubscriptionDestination name(TopicDestination topic) {
        String id = topic.topic();
        String start = id.length() > LONGEST_TOPIC ? id.substring(0, LONGEST_TOPIC) : id;
        return SubscriptionDestination.of(
                topic.project(), "flink-" + start + "-" + UUID.randomUUID());
    }
}

package io.github.flinkpubsub.source;

import io.github.flinkpubsub.OptionChecks;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.nativebridge.NativeOptions;

import org.apache.flink.annotation.Internal;
import org.apache.flink.annotation.PublicEvolving;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

import javax.annotation.Nullable;

/**
 * Authorises the source to create a subscription that does not exist, with these settings; what is
 * not set is the service's default. A subscription that exists keeps its settings: where it differs
 * in what cannot be changed later and the job depends on (topic, filter, ordering), the job does
 * not start; other differences are logged.
 *
 * <p>The topic must exist. A new subscription sees what is published after it exists, unless its
 * topic retains messages and the job starts at an earlier position.
 */
@PublicEvolving
public final class SubscriptionCreateOptions implements Serializable {

    private static final long serialVersionUID = 1L;

    private static final int MAX_FILTER_BYTES = 256;

    private final TopicDestination topic;
    private final boolean messageOrdering;
    private final boolean exactlyOnceDelivery;
    private final boolean retainAckedMessages;
    @Nullable private final Duration ackDeadline;
    @Nullable private final Duration messageRetention;
    @Nullable private final Duration expirationTtl;
    @Nullable private final String filter;
    @Nullable private final TopicDestination deadLetterTopic;
    private final int maxDeliveryAttempts;
    private final LinkedHashMap<String, String> labels;

    private SubscriptionCreateOptions(Builder builder) {
        topic = builder.topic;
        messageOrdering = builder.messageOrdering;
        exactlyOnceDelivery = builder.exactlyOnceDelivery;
        retainAckedMessages = builder.retainAckedMessages;
        ackDeadline = builder.ackDeadline;
        messageRetention = builder.messageRetention;
        expirationTtl = builder.neverExpire ? Duration.ZERO : builder.expirationTtl;
        filter = builder.filter;
        deadLetterTopic = builder.deadLetterTopic;
        maxDeliveryAttempts = builder.maxDeliveryAttempts;
        labels = new LinkedHashMap<>(builder.labels);
    }

    /** A builder with nothing set; the topic is required. */
    public static Builder builder() {
        return new Builder();
    }

    /** These options, or the same with an expiration when they say nothing about it. */
    SubscriptionCreateOptions orExpiration(Duration ttl) {
        if (expirationTtl != null) {
            return this;
        }
        Builder builder = new Builder();
        builder.topic = topic;
        builder.messageOrdering = messageOrdering;
        builder.exactlyOnceDelivery = exactlyOnceDelivery;
        builder.retainAckedMessages = retainAckedMessages;
        builder.ackDeadline = ackDeadline;
        builder.messageRetention = messageRetention;
        builder.expirationTtl = ttl;
        builder.filter = filter;
        builder.deadLetterTopic = deadLetterTopic;
        builder.maxDeliveryAttempts = maxDeliveryAttempts;
        builder.labels.putAll(labels);
        return new SubscriptionCreateOptions(builder);
    }

    /** The topic whose messages the subscription gets. */
    @Internal
    public TopicDestination topic() {
        return topic;
    }

    /** Whether messages with an ordering key come in order. */
    @Internal
    public boolean messageOrdering() {
        return messageOrdering;
    }

    /** The filter; empty for none. */
    @Internal
    public String filter() {
        return filter == null ? "" : filter;
    }

    /** Whether there is a dead-letter policy. */
    @Internal
    public boolean hasDeadLetterPolicy() {
        return deadLetterTopic != null;
    }

    /** The settings as the boundary has them; only what is set. */
    @Internal
    public NativeOptions toNative() {
        NativeOptions options = new NativeOptions().put("topic", topic.path());
        if (messageOrdering) {
            options.put("ordering", true);
        }
        if (exactlyOnceDelivery) {
            options.put("exactly-once", true);
        }
        if (retainAckedMessages) {
            options.put("retain-acked-messages", true);
        }
        if (ackDeadline != null) {
            options.put("ack-deadline-seconds", ackDeadline.getSeconds());
        }
        options.putIfSet("message-retention-ms", messageRetention)
                .putIfSet("expiration-ttl-ms", expirationTtl)
                .putIfSet("filter", filter);
        if (deadLetterTopic != null) {
            options.put("dead-letter-topic", deadLetterTopic.path())
                    .put("max-delivery-attempts", maxDeliveryAttempts);
        }
        labels.forEach((name, value) -> options.put("label." + name, value));
        return options;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof SubscriptionCreateOptions
                && toNative()
                        .asMap()
                        .equals(((SubscriptionCreateOptions) other).toNative().asMap());
    }

    @Override
    public int hashCode() {
        return Objects.hash(topic, toNative().asMap());
    }

    @Override
    public String toString() {
        return toNative().asMap().toString();
    }

    /** Builds {@link SubscriptionCreateOptions}. Each setter checks its own range. */
    @PublicEvolving
    public static final class Builder {

        @Nullable private TopicDestination topic;
        private boolean messageOrdering;
        private boolean exactlyOnceDelivery;
        private boolean retainAckedMessages;
        private boolean neverExpire;
        @Nullable private Duration ackDeadline;
        @Nullable private Duration messageRetention;
        @Nullable private Duration expirationTtl;
        @Nullable private String filter;
        @Nullable private TopicDestination deadLetterTopic;
        private int maxDeliveryAttempts;
        private final Map<String, String> labels = new LinkedHashMap<>();

        private Builder() {}

        /** The topic whose messages the subscription gets; required. */
        public Builder topic(TopicDestination topic) {
            this.topic = OptionChecks.notNull("topic", topic);
            return this;
        }

        /**
         * The subscription's own ack deadline, 10 to 600 s in whole seconds; the service's default
         * is 10 s. The source's streams use leases of their own; this one holds for other
         * consumers.
         */
        public Builder ackDeadline(Duration deadline) {
            OptionChecks.within(
                    "ackDeadline", deadline, Duration.ofSeconds(10), Duration.ofSeconds(600));
            if (deadline.getNano() != 0) {
                throw new IllegalArgumentException(
                        "ackDeadline must be in whole seconds, not " + deadline);
            }
            ackDeadline = deadline;
            return this;
        }

        /** Whether messages with an ordering key come in order; default false. */
        public Builder enableMessageOrdering(boolean enable) {
            messageOrdering = enable;
            return this;
        }

        /** How long messages are kept, 10 min to 31 days; the service's default is 7 days. */
        public Builder messageRetention(Duration retention) {
            messageRetention =
                    OptionChecks.within(
                            "messageRetention",
                            retention,
                            Duration.ofMinutes(10),
                            Duration.ofDays(31));
            return this;
        }

        /** Whether acknowledged messages are kept too, so that a seek can bring them back. */
        public Builder retainAckedMessages(boolean retain) {
            retainAckedMessages = retain;
            return this;
        }

        /**
         * After how long without a consumer the subscription is deleted, at least a day; the
         * service's default is 31 days. Excludes {@link #neverExpire()}.
         */
        public Builder expirationTtl(Duration ttl) {
            expirationTtl =
                    OptionChecks.within(
                            "expirationTtl", ttl, Duration.ofDays(1), Duration.ofDays(365));
            return this;
        }

        /** The subscription is never deleted for want of a consumer. */
        public Builder neverExpire() {
            neverExpire = true;
            return this;
        }

        /**
         * Forwards messages that were delivered too often.
         *
         * @param topic where to
         * @param maxDeliveryAttempts 5 to 100
         */
        public Builder deadLetterPolicy(TopicDestination topic, int maxDeliveryAttempts) {
            deadLetterTopic = OptionChecks.notNull("the topic of deadLetterPolicy", topic);
            this.maxDeliveryAttempts =
                    OptionChecks.within(
                            "maxDeliveryAttempts of deadLetterPolicy", maxDeliveryAttempts, 5, 100);
            return this;
        }

        /**
         * Which messages the subscription gets, by their attributes, in the service's filter
         * language; at most 256 bytes. It cannot be changed later.
         */
        public Builder filter(String filter) {
            OptionChecks.notBlank("filter", filter);
            OptionChecks.within(
                    "the length of filter in bytes",
                    filter.getBytes(StandardCharsets.UTF_8).length,
                    1,
                    MAX_FILTER_BYTES);
            this.filter = filter;
            return this;
        }

        /** Whether acks are confirmed and a lease has one holder; default false. */
        public Builder enableExactlyOnceDelivery(boolean enable) {
            exactlyOnceDelivery = enable;
            return this;
        }

        /** Adds a label. */
        public Builder label(String name, String value) {
            OptionChecks.notBlank("the name of a label", name);
            labels.put(name, OptionChecks.notNull("the value of label '" + name + "'", value));
            return this;
        }

        /** Adds labels. */
        public Builder labels(Map<String, String> labels) {
            OptionChecks.notNull("labels", labels).forEach(this::label);
            return this;
        }

        /**
         * Builds the options.
         *
         * @throws IllegalArgumentException when the topic is missing, or a time to live is given
         *     beside {@link #neverExpire()}
         */
        public SubscriptionCreateOptions build() {
            if (topic == null) {
                throw new IllegalArgumentException(
                        "topic is missing: a subscription belongs to a topic");
            }
            if (neverExpire && expirationTtl != null) {
                throw new IllegalArgumentException(
                        "expirationTtl and neverExpire exclude each other: set one of the two");
            }
            return new SubscriptionCreateOptions(this);
        }
    }
}

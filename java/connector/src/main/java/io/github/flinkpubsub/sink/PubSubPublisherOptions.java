package io.github.flinkpubsub.sink;

import io.github.flinkpubsub.OptionChecks;
import io.github.flinkpubsub.nativebridge.NativeOptions;

import org.apache.flink.annotation.Internal;
import org.apache.flink.annotation.PublicEvolving;

import java.io.Serializable;
import java.time.Duration;

/** How a sink publishes. Every setter of the builder refuses what is out of range. */
@PublicEvolving
public final class PubSubPublisherOptions implements Serializable {

    private static final long serialVersionUID = 1L;

    private final int batchElementCountThreshold;
    private final int batchRequestByteThreshold;
    private final Duration batchDelayThreshold;
    private final boolean enableMessageOrdering;
    private final long maxInFlightMessages;
    private final long maxInFlightBytes;
    private final int maxActivePublishers;
    private final Duration publisherIdleTimeout;
    private final Duration retryInitialDelay;
    private final double retryDelayMultiplier;
    private final Duration retryMaxDelay;
    private final Duration retryTotalTimeout;
    private final Duration requestTimeout;
    private final Duration recoveryInitialBackoff;
    private final Duration recoveryMaxBackoff;
    private final int recoveryMaxAttempts;
    private final Duration publishProgressTimeout;
    private final int maxConsecutiveRejections;
    private final Compression compression;
    private final Duration shutdownTimeout;
    private final boolean perDestinationMetrics;

    private PubSubPublisherOptions(Builder builder) {
        batchElementCountThreshold = builder.batchElementCountThreshold;
        batchRequestByteThreshold = builder.batchRequestByteThreshold;
        batchDelayThreshold = builder.batchDelayThreshold;
        enableMessageOrdering = builder.enableMessageOrdering;
        maxInFlightMessages = builder.maxInFlightMessages;
        maxInFlightBytes = builder.maxInFlightBytes;
        maxActivePublishers = builder.maxActivePublishers;
        publisherIdleTimeout = builder.publisherIdleTimeout;
        retryInitialDelay = builder.retryInitialDelay;
        retryDelayMultiplier = builder.retryDelayMultiplier;
        retryMaxDelay = builder.retryMaxDelay;
        retryTotalTimeout = builder.retryTotalTimeout;
        requestTimeout = builder.requestTimeout;
        recoveryInitialBackoff = builder.recoveryInitialBackoff;
        recoveryMaxBackoff = builder.recoveryMaxBackoff;
        recoveryMaxAttempts = builder.recoveryMaxAttempts;
        publishProgressTimeout = builder.publishProgressTimeout;
        maxConsecutiveRejections = builder.maxConsecutiveRejections;
        compression = builder.compression;
        shutdownTimeout = builder.shutdownTimeout;
        perDestinationMetrics = builder.perDestinationMetrics;
    }

    /** All options at their defaults. */
    public static PubSubPublisherOptions defaults() {
        return builder().build();
    }

    /** A builder with all options at their defaults. */
    public static Builder builder() {
        return new Builder();
    }

    /** Messages in a request at most. */
    public int batchElementCountThreshold() {
        return batchElementCountThreshold;
    }

    /** Encoded bytes in a request, a single larger message apart. */
    public int batchRequestByteThreshold() {
        return batchRequestByteThreshold;
    }

    /** How long a message waits for others to share its request. */
    public Duration batchDelayThreshold() {
        return batchDelayThreshold;
    }

    /** Whether messages may have an ordering key. */
    public boolean enableMessageOrdering() {
        return enableMessageOrdering;
    }

    /** Messages accepted and unconfirmed, per writer. */
    public long maxInFlightMessages() {
        return maxInFlightMessages;
    }

    /** Bytes accepted and unconfirmed, per writer. */
    public long maxInFlightBytes() {
        return maxInFlightBytes;
    }

    /** Topics that a writer keeps state for. */
    public int maxActivePublishers() {
        return maxActivePublishers;
    }

    /** When the state of a topic that is not written to is released. */
    public Duration publisherIdleTimeout() {
        return publisherIdleTimeout;
    }

    /** The pause before the first retry. */
    public Duration retryInitialDelay() {
        return retryInitialDelay;
    }

    /** By what the pause grows with each retry. */
    public double retryDelayMultiplier() {
        return retryDelayMultiplier;
    }

    /** The longest pause between retries. */
    public Duration retryMaxDelay() {
        return retryMaxDelay;
    }

    /** How long a request is retried. */
    public Duration retryTotalTimeout() {
        return retryTotalTimeout;
    }

    /** How long one attempt of a request may take. */
    public Duration requestTimeout() {
        return requestTimeout;
    }

    /** The pause before a topic that was created is tried again. */
    public Duration recoveryInitialBackoff() {
        return recoveryInitialBackoff;
    }

    /** The longest pause of that kind. */
    public Duration recoveryMaxBackoff() {
        return recoveryMaxBackoff;
    }

    /** How often a missing topic is created and tried. */
    public int recoveryMaxAttempts() {
        return recoveryMaxAttempts;
    }

    /** How long publishing may make no progress. */
    public Duration publishProgressTimeout() {
        return publishProgressTimeout;
    }

    /** Messages in a row that a handler may drop. */
    public int maxConsecutiveRejections() {
        return maxConsecutiveRejections;
    }

    /** Whether requests are compressed. */
    public Compression compression() {
        return compression;
    }

    /** What closing a writer may take. */
    public Duration shutdownTimeout() {
        return shutdownTimeout;
    }

    /** Whether there are metrics of each topic. */
    public boolean perDestinationMetrics() {
        return perDestinationMetrics;
    }

    /** Adds what concerns the native client. */
    @Internal
    public void addTo(NativeOptions options) {
        options.put("batch-element-count", batchElementCountThreshold)
                .put("batch-request-bytes", batchRequestByteThreshold)
                .put("batch-delay-ms", batchDelayThreshold)
                .put("ordering", enableMessageOrdering)
                .put("max-in-flight-messages", maxInFlightMessages)
                .put("max-in-flight-bytes", maxInFlightBytes)
                .put("max-active-topics", maxActivePublishers)
                .put("topic-idle-timeout-ms", publisherIdleTimeout)
                .put("retry-initial-delay-ms", retryInitialDelay)
                .put("retry-multiplier", retryDelayMultiplier)
                .put("retry-max-delay-ms", retryMaxDelay)
                .put("retry-total-timeout-ms", retryTotalTimeout)
                .put("request-timeout-ms", requestTimeout)
                .put("recovery-initial-backoff-ms", recoveryInitialBackoff)
                .put("recovery-max-backoff-ms", recoveryMaxBackoff)
                .put("recovery-max-attempts", recoveryMaxAttempts)
                .put("progress-timeout-ms", publishProgressTimeout)
                .put("compression-threshold-bytes", compression.thresholdBytes());
    }

    /** Builds {@link PubSubPublisherOptions}. */
    @PublicEvolving
    public static final class Builder {

        private static final Duration MILLISECOND = Duration.ofMillis(1);
        private static final Duration DAY = Duration.ofDays(1);

        private int batchElementCountThreshold = 1_000;
        private int batchRequestByteThreshold = 1 << 20;
        private Duration batchDelayThreshold = Duration.ofMillis(10);
        private boolean enableMessageOrdering;
        private long maxInFlightMessages = 100_000;
        private long maxInFlightBytes = 64L << 20;
        private int maxActivePublishers = 1_000;
        private Duration publisherIdleTimeout = Duration.ofMinutes(5);
        private Duration retryInitialDelay = Duration.ofMillis(100);
        private double retryDelayMultiplier = 4;
        private Duration retryMaxDelay = Duration.ofSeconds(60);
        private Duration retryTotalTimeout = Duration.ofSeconds(600);
        private Duration requestTimeout = Duration.ofSeconds(60);
        private Duration recoveryInitialBackoff = Duration.ofMillis(500);
        private Duration recoveryMaxBackoff = Duration.ofSeconds(10);
        private int recoveryMaxAttempts = 10;
        private Duration publishProgressTimeout = Duration.ofSeconds(600);
        private int maxConsecutiveRejections = 100;
        private Compression compression = Compression.none();
        private Duration shutdownTimeout = Duration.ofSeconds(30);
        private boolean perDestinationMetrics;

        private Builder() {}

        /** Messages in one request at most. 1 to 1,000, the service's limit; default 1,000. */
        public Builder batchElementCountThreshold(int messages) {
            batchElementCountThreshold =
                    OptionChecks.within("batchElementCountThreshold", messages, 1, 1_000);
            return this;
        }

        /**
         * Encoded bytes in one request; a larger message goes alone. 1 to 10,000,000, the service's
         * limit; default 1 MiB.
         */
        public Builder batchRequestByteThreshold(int bytes) {
            batchRequestByteThreshold =
                    OptionChecks.within("batchRequestByteThreshold", bytes, 1, 10_000_000);
            return this;
        }

        /**
         * How long a message waits for others to share its request. Zero to 1 h; default 10 ms;
         * zero sends without waiting.
         */
        public Builder batchDelayThreshold(Duration delay) {
            batchDelayThreshold =
                    OptionChecks.within(
                            "batchDelayThreshold", delay, Duration.ZERO, Duration.ofHours(1));
            return this;
        }

        /**
         * Whether messages may have an ordering key. Those of one key are then published one
         * request after the other. Default off: a message with a key fails the job.
         */
        public Builder enableMessageOrdering(boolean enable) {
            enableMessageOrdering = enable;
            return this;
        }

        /**
         * Messages accepted and not yet confirmed, per writer; at the bound the writer waits. 1 to
         * 100,000,000; default 100,000.
         */
        public Builder maxInFlightMessages(long messages) {
            maxInFlightMessages =
                    OptionChecks.within("maxInFlightMessages", messages, 1, 100_000_000);
            return this;
        }

        /**
         * Bytes accepted and not yet confirmed, per writer; at the bound the writer waits. A single
         * larger message still passes. Of requests under way about 4 MiB, or four of the largest,
         * wait for the connection, whatever the bound. 1 to 1 TiB; default 64 MiB.
         */
        public Builder maxInFlightBytes(long bytes) {
            maxInFlightBytes = OptionChecks.within("maxInFlightBytes", bytes, 1, 1L << 40);
            return this;
        }

        /**
         * Topics that a writer keeps state for; above it the least recently used one that has
         * nothing in flight is released. 1 to 1,000,000; default 1,000.
         */
        public Builder maxActivePublishers(int topics) {
            maxActivePublishers = OptionChecks.within("maxActivePublishers", topics, 1, 1_000_000);
            return this;
        }

        /**
         * When the state of a topic that is not written to is released. 1 s to 1 day; default 5
         * min.
         */
        public Builder publisherIdleTimeout(Duration timeout) {
            publisherIdleTimeout =
                    OptionChecks.within(
                            "publisherIdleTimeout", timeout, Duration.ofSeconds(1), DAY);
            return this;
        }

        /** The pause before the first retry. 1 ms to 1 day; default 100 ms. */
        public Builder retryInitialDelay(Duration delay) {
            retryInitialDelay = OptionChecks.within("retryInitialDelay", delay, MILLISECOND, DAY);
            return this;
        }

        /** By what the pause grows with each retry. 1 to 100; default 4. */
        public Builder retryDelayMultiplier(double multiplier) {
            if (!(multiplier >= 1 && multiplier <= 100)) {
                throw new IllegalArgumentException(
                        "retryDelayMultiplier must be within 1 to 100, not " + multiplier);
            }
            retryDelayMultiplier = multiplier;
            return this;
        }

        /** The longest pause between retries. 1 ms to 1 day; default 60 s. */
        public Builder retryMaxDelay(Duration delay) {
            retryMaxDelay = OptionChecks.within("retryMaxDelay", delay, MILLISECOND, DAY);
            return this;
        }

        /**
         * How long a request is retried before it fails the job. Only failures that may pass are
         * retried. 1 ms to 1 day; default 600 s.
         */
        public Builder retryTotalTimeout(Duration timeout) {
            retryTotalTimeout = OptionChecks.within("retryTotalTimeout", timeout, MILLISECOND, DAY);
            return this;
        }

        /** How long one attempt of a request may take. 1 ms to 1 day; default 60 s. */
        public Builder requestTimeout(Duration timeout) {
            requestTimeout = OptionChecks.within("requestTimeout", timeout, MILLISECOND, DAY);
            return this;
        }

        /**
         * The pause before a topic that was found missing is tried again after its creation; it
         * doubles with each attempt. 1 ms to 1 day; default 500 ms.
         */
        public Builder recoveryInitialBackoff(Duration backoff) {
            recoveryInitialBackoff =
                    OptionChecks.within("recoveryInitialBackoff", backoff, MILLISECOND, DAY);
            return this;
        }

        /** The longest pause between two such attempts. 1 ms to 1 day; default 10 s. */
        public Builder recoveryMaxBackoff(Duration backoff) {
            recoveryMaxBackoff =
                    OptionChecks.within("recoveryMaxBackoff", backoff, MILLISECOND, DAY);
            return this;
        }

        /** How many such attempts there are before the job fails. 1 to 1,000; default 10. */
        public Builder recoveryMaxAttempts(int attempts) {
            recoveryMaxAttempts = OptionChecks.within("recoveryMaxAttempts", attempts, 1, 1_000);
            return this;
        }

        /**
         * When nothing has been confirmed for so long although messages are in flight, the job
         * fails. 1 s to 1 day; default 600 s.
         */
        public Builder publishProgressTimeout(Duration timeout) {
            publishProgressTimeout =
                    OptionChecks.within(
                            "publishProgressTimeout", timeout, Duration.ofSeconds(1), DAY);
            return this;
        }

        /**
         * Messages in a row that a failed-message handler may drop; one more fails the job, as
         * nothing seems to get through. 1 to 1,000,000,000; default 100.
         */
        public Builder maxConsecutiveRejections(int messages) {
            maxConsecutiveRejections =
                    OptionChecks.within("maxConsecutiveRejections", messages, 1, 1_000_000_000);
            return this;
        }

        /** Whether requests are compressed; default {@link Compression#none()}. */
        public Builder compression(Compression compression) {
            this.compression = OptionChecks.notNull("compression", compression);
            return this;
        }

        /**
         * What a writer that has not failed takes at most to send what is left when it is closed.
         * It takes no longer than 3 s without a confirmation, so that a job is cancelled in seconds
         * while the service is away. Zero to 1 h; default 30 s.
         */
        public Builder shutdownTimeout(Duration timeout) {
            shutdownTimeout =
                    OptionChecks.within(
                            "shutdownTimeout", timeout, Duration.ZERO, Duration.ofHours(1));
            return this;
        }

        /**
         * Whether {@code numRecordsSend}, {@code numBytesSend} and {@code numRecordsSendErrors} are
         * also counted for each topic, in the group {@code topic.<path>}. They stay until the
         * writer ends: not for jobs with topics without number. Default off.
         */
        public Builder perDestinationMetrics(boolean enable) {
            perDestinationMetrics = enable;
            return this;
        }

        /**
         * Builds the options.
         *
         * @throws IllegalArgumentException when a first pause is above the longest
         */
        public PubSubPublisherOptions build() {
            checkOrder("retryInitialDelay", retryInitialDelay, "retryMaxDelay", retryMaxDelay);
            checkOrder(
                    "recoveryInitialBackoff",
                    recoveryInitialBackoff,
                    "recoveryMaxBackoff",
                    recoveryMaxBackoff);
            return new PubSubPublisherOptions(this);
        }

        private static void checkOrder(
                String smaller, Duration first, String larger, Duration longest) {
            if (first.compareTo(longest) > 0) {
                throw new IllegalArgumentException(
                        smaller
                                + " ("
                                + first
                                + ") must not be above "
                                + larger
                                + " ("
                                + longest
                                + ")");
            }
        }
    }
}

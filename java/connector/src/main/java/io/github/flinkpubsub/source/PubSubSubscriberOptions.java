package io.github.flinkpubsub.source;

import io.github.flinkpubsub.OptionChecks;
import io.github.flinkpubsub.nativebridge.NativeOptions;

import org.apache.flink.annotation.Internal;
import org.apache.flink.annotation.PublicEvolving;

import java.io.Serializable;
import java.time.Duration;

import javax.annotation.Nullable;

/**
 * How a source reads its subscriptions. Every setter of the builder refuses what is out of range.
 */
@PublicEvolving
public final class PubSubSubscriberOptions implements Serializable {

    private static final long serialVersionUID = 1L;

    private final long maxOutstandingMessages;
    private final long maxOutstandingBytes;
    private final long maxBufferedBytes;
    private final int parallelPullCount;
    private final Duration maxAckExtensionPeriod;
    @Nullable private final Duration minDurationPerAckExtension;
    @Nullable private final Duration maxDurationPerAckExtension;
    private final boolean awaitAckConfirmation;
    private final int maxRecordsPerFetch;
    private final Duration firstCheckpointTimeout;
    private final Duration shutdownTimeout;

    private PubSubSubscriberOptions(Builder builder) {
        maxOutstandingMessages = builder.maxOutstandingMessages;
        maxOutstandingBytes = builder.maxOutstandingBytes;
        maxBufferedBytes = builder.maxBufferedBytes;
        parallelPullCount = builder.parallelPullCount;
        maxAckExtensionPeriod = builder.maxAckExtensionPeriod;
        minDurationPerAckExtension = builder.minDurationPerAckExtension;
        maxDurationPerAckExtension = builder.maxDurationPerAckExtension;
        awaitAckConfirmation = builder.awaitAckConfirmation;
        maxRecordsPerFetch = builder.maxRecordsPerFetch;
        firstCheckpointTimeout = builder.firstCheckpointTimeout;
        shutdownTimeout = builder.shutdownTimeout;
    }

    /** All options at their defaults. */
    public static PubSubSubscriberOptions defaults() {
        return builder().build();
    }

    /** A builder with all options at their defaults. */
    public static Builder builder() {
        return new Builder();
    }

    /** Messages leased and unacknowledged, per split. */
    public long maxOutstandingMessages() {
        return maxOutstandingMessages;
    }

    /** Bytes leased and unacknowledged, per split. */
    public long maxOutstandingBytes() {
        return maxOutstandingBytes;
    }

    /** Payload bytes held and not yet emitted, per split. */
    public long maxBufferedBytes() {
        return maxBufferedBytes;
    }

    /** Streams per split. */
    public int parallelPullCount() {
        return parallelPullCount;
    }

    /** How long a lease is extended at most. */
    public Duration maxAckExtensionPeriod() {
        return maxAckExtensionPeriod;
    }

    /** The shortest single extension; null for adaptive. */
    @Nullable
    public Duration minDurationPerAckExtension() {
        return minDurationPerAckExtension;
    }

    /** The longest single extension; null for adaptive. */
    @Nullable
    public Duration maxDurationPerAckExtension() {
        return maxDurationPerAckExtension;
    }

    /** Whether a completed checkpoint waits for the service's confirmation of its acks. */
    public boolean awaitAckConfirmation() {
        return awaitAckConfirmation;
    }

    /** Messages handed to the task at once. */
    public int maxRecordsPerFetch() {
        return maxRecordsPerFetch;
    }

    /** How long messages may wait for the first completed checkpoint; zero for ever. */
    public Duration firstCheckpointTimeout() {
        return firstCheckpointTimeout;
    }

    /** What closing a reader may take. */
    public Duration shutdownTimeout() {
        return shutdownTimeout;
    }

    /** Adds what concerns the native client. */
    @Internal
    public void addTo(NativeOptions options) {
        options.put("max-outstanding-messages", maxOutstandingMessages)
                .put("max-outstanding-bytes", maxOutstandingBytes)
                .put("max-buffered-bytes", maxBufferedBytes)
                .put("parallel-pull-count", parallelPullCount)
                .put("max-ack-extension-period-ms", maxAckExtensionPeriod)
                .putIfSet("min-duration-per-ack-extension-ms", minDurationPerAckExtension)
                .putIfSet("max-duration-per-ack-extension-ms", maxDurationPerAckExtension)
                .put("max-records-per-fetch", maxRecordsPerFetch);
    }

    /** Builds {@link PubSubSubscriberOptions}. */
    @PublicEvolving
    public static final class Builder {

        private static final Duration SHORTEST_EXTENSION = Duration.ofSeconds(10);
        private static final Duration LONGEST_EXTENSION = Duration.ofSeconds(600);

        private long maxOutstandingMessages = 100_000;
        private long maxOutstandingBytes = 1L << 30;
        private long maxBufferedBytes = 64L << 20;
        private int parallelPullCount = 1;
        private Duration maxAckExtensionPeriod = Duration.ofHours(1);
        @Nullable private Duration minDurationPerAckExtension;
        @Nullable private Duration maxDurationPerAckExtension;
        private boolean awaitAckConfirmation;
        private int maxRecordsPerFetch = 1_000;
        private Duration firstCheckpointTimeout = Duration.ofMinutes(10);
        private Duration shutdownTimeout = Duration.ofSeconds(5);

        private Builder() {}

        /**
         * Bounds the messages that are leased and not yet acknowledged, per split. They are
         * acknowledged when a checkpoint completes, so this also bounds what can be read between
         * two checkpoints. 1 to 10,000,000; default 100,000.
         */
        public Builder maxOutstandingMessages(long messages) {
            maxOutstandingMessages =
                    OptionChecks.within("maxOutstandingMessages", messages, 1, 10_000_000);
            return this;
        }

        /**
         * Bounds the same as {@link #maxOutstandingMessages} in bytes. What has been emitted counts
         * although it holds no memory any more. 1 to 1 TiB; default 1 GiB.
         */
        public Builder maxOutstandingBytes(long bytes) {
            maxOutstandingBytes = OptionChecks.within("maxOutstandingBytes", bytes, 1, 1L << 40);
            return this;
        }

        /**
         * Bounds the payload held in memory and not yet emitted, per split. 1 to 1 TiB; default 64
         * MiB. A single larger message still passes.
         */
        public Builder maxBufferedBytes(long bytes) {
            maxBufferedBytes = OptionChecks.within("maxBufferedBytes", bytes, 1, 1L << 40);
            return this;
        }

        /**
         * Streams that each split opens. The service sends about 10 MB/s through one. 1 to 64;
         * default 1; refused above 1 with {@link OrderingMode#PER_KEY}.
         */
        public Builder parallelPullCount(int streams) {
            parallelPullCount = OptionChecks.within("parallelPullCount", streams, 1, 64);
            return this;
        }

        /**
         * How long a lease is extended at most, counted from delivery. What is not acknowledged by
         * then is delivered again, so it should be well above the checkpoint interval. 10 s to 7
         * days; default 1 h.
         */
        public Builder maxAckExtensionPeriod(Duration period) {
            maxAckExtensionPeriod =
                    OptionChecks.within(
                            "maxAckExtensionPeriod",
                            period,
                            SHORTEST_EXTENSION,
                            Duration.ofDays(7));
            return this;
        }

        /** The shortest single extension of a lease. 10 s to 600 s; by default adaptive. */
        public Builder minDurationPerAckExtension(Duration duration) {
            minDurationPerAckExtension =
                    OptionChecks.within(
                            "minDurationPerAckExtension",
                            duration,
                            SHORTEST_EXTENSION,
                            LONGEST_EXTENSION);
            return this;
        }

        /** The longest single extension of a lease. 10 s to 600 s; by default adaptive. */
        public Builder maxDurationPerAckExtension(Duration duration) {
            maxDurationPerAckExtension =
                    OptionChecks.within(
                            "maxDurationPerAckExtension",
                            duration,
                            SHORTEST_EXTENSION,
                            LONGEST_EXTENSION);
            return this;
        }

        /**
         * Whether a completed checkpoint waits until the service has confirmed its acks; the job
         * fails when it does not within a minute. Default off: acks are sent and retried in the
         * background, and one that is lost means a duplicate.
         */
        public Builder awaitAckConfirmation(boolean await) {
            awaitAckConfirmation = await;
            return this;
        }

        /** Messages handed to the task at once. 1 to 100,000; default 1,000. */
        public Builder maxRecordsPerFetch(int records) {
            maxRecordsPerFetch = OptionChecks.within("maxRecordsPerFetch", records, 1, 100_000);
            return this;
        }

        /**
         * Messages are acknowledged by checkpoints alone. When none has completed this long after
         * the first message, the job fails and says so; where checkpointing is known to be off it
         * fails at the start. Zero to 30 days; default 10 min; zero switches both checks off.
         */
        public Builder firstCheckpointTimeout(Duration timeout) {
            firstCheckpointTimeout =
                    OptionChecks.within(
                            "firstCheckpointTimeout", timeout, Duration.ZERO, Duration.ofDays(30));
            return this;
        }

        /**
         * Bounds the closing of a reader, all splits together: acks that are decided are sent,
         * everything else is given back. Zero to 10 min; default 5 s.
         */
        public Builder shutdownTimeout(Duration timeout) {
            shutdownTimeout =
                    OptionChecks.within(
                            "shutdownTimeout", timeout, Duration.ZERO, Duration.ofMinutes(10));
            return this;
        }

        /**
         * Builds the options.
         *
         * @throws IllegalArgumentException when the shortest extension is above the longest
         */
        public PubSubSubscriberOptions build() {
            if (minDurationPerAckExtension != null
                    && maxDurationPerAckExtension != null
                    && minDurationPerAckExtension.compareTo(maxDurationPerAckExtension) > 0) {
                throw new IllegalArgumentException(
                        "minDurationPerAckExtension ("
                                + minDurationPerAckExtension
                                + ") must not be above maxDurationPerAckExtension ("
                                + maxDurationPerAckExtension
                                + ")");
            }
            return new PubSubSubscriberOptions(this);
        }
    }
}

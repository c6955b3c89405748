package io.github.flinkpubsub.compat;

import io.github.flinkpubsub.OptionChecks;
import io.github.flinkpubsub.source.PubSubSourceBuilder;
import io.github.flinkpubsub.source.PubSubSubscriberOptions;

import java.io.Serializable;
import java.time.Duration;

/** The three numbers that tune Apache's default subscriber. */
final class PullSettings implements Serializable {

    private static final long serialVersionUID = 1L;

    private final int maxMessagesPerPull;
    private final Duration perRequestTimeout;
    private final int retries;

    PullSettings(int maxMessagesPerPull, Duration perRequestTimeout, int retries) {
        this.maxMessagesPerPull =
                OptionChecks.within("maxMessagesPerPull", maxMessagesPerPull, 1, 1_000_000);
        this.perRequestTimeout =
                OptionChecks.within(
                        "perRequestTimeout",
                        perRequestTimeout,
                        Duration.ofMillis(1),
                        Duration.ofHours(1));
        this.retries = OptionChecks.within("retries", retries, 0, 1_000_000);
    }

    void applyTo(PubSubSourceBuilder<?> builder) {
        builder.subscriberOptions(
                PubSubSubscriberOptions.builder().maxRecordsPerFetch(maxMessagesPerPull).build());
        builder.requestLimits(perRequestTimeout, totalTimeout());
    }

    /** How long a service that does not answer is tried: every attempt may take its time. */
    Duration totalTimeout() {
        return perRequestTimeout.multipliedBy(retries + 1L);
    }
}

package io.github.flinkpubsub.compat;

import com.google.auth.Credentials;

import io.github.flinkpubsub.OptionChecks;
import io.github.flinkpubsub.SubscriptionDestination;

import org.apache.flink.annotation.PublicEvolving;

import java.time.Duration;

/**
 * Says that the source reads an emulator, in plaintext and without credentials. The native client
 * does so; this class only describes it.
 */
@PublicEvolving
public final class PubSubSubscriberFactoryForEmulator implements PubSubSubscriberFactory {

    private static final long serialVersionUID = 1L;

    private final String hostAndPort;
    private final SubscriptionDestination subscription;
    private final PullSettings settings;

    /**
     * @param hostAndPort {@code host:port} of the emulator
     * @param project the subscription's project
     * @param subscription the subscription, which takes the place of the source builder's
     * @param retries see {@code withPubSubSubscriberFactory}
     * @param timeout see {@code withPubSubSubscriberFactory}
     * @param maxMessagesPerPull see {@code withPubSubSubscriberFactory}
     */
    public PubSubSubscriberFactoryForEmulator(
            String hostAndPort,
            String project,
            String subscription,
            int retries,
            Duration timeout,
            int maxMessagesPerPull) {
        this.hostAndPort = OptionChecks.notBlank("hostAndPort", hostAndPort);
        this.subscription = SubscriptionDestination.of(project, subscription);
        this.settings = new PullSettings(maxMessagesPerPull, timeout, retries);
    }

    String hostAndPort() {
        return hostAndPort;
    }

    SubscriptionDestination subscription() {
        return subscription;
    }

    PullSettings settings() {
        return settings;
    }

    /**
     * Not to be called: the native client reads the emulator.
     *
     * @throws UnsupportedOperationException always
     */
    @Override
    public PubSubSubscriber getSubscriber(Credentials credentials) {
        throw new UnsupportedOperationException(
                "the native client reads the emulator: pass this factory itself to"
                        + " withPubSubSubscriberFactory");
    }
}

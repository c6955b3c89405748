package io.github.flinkpubsub.source.enumerator;

import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.PubSubException.Status;
import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.nativebridge.Admin;
import io.github.flinkpubsub.source.DeserializationFailurePolicy;
import io.github.flinkpubsub.source.OrderingMode;
import io.github.flinkpubsub.source.SourceConfig;
import io.github.flinkpubsub.source.StartPosition;
import io.github.flinkpubsub.source.SubscriptionCreateOptions;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

import javax.annotation.Nullable;

/**
 * What happens before a reader is attached: every subscription is looked at, then the missing ones
 * are created, then those that the job reads for the first time are moved to its start position.
 * Nothing is created or moved unless all can be consumed.
 *
 * <p>Runs on a worker thread of the coordinator, since the calls block.
 */
final class SubscriptionSetup {

    private static final Logger LOG = LoggerFactory.getLogger(SubscriptionSetup.class);

    private final SourceConfig config;
    private final Admin admin;
    private final Supplier<Instant> clock;

    private final List<SubscriptionDestination> missing = new ArrayList<>();
    private final Map<SubscriptionDestination, Map<String, String>> described =
            new LinkedHashMap<>();
    private final List<String> problems = new ArrayList<>();
    private PubSubException firstFailure;

    SubscriptionSetup(SourceConfig config, Admin admin, Supplier<Instant> clock) {
        this.config = config;
        this.admin = admin;
        this.clock = clock;
    }

    /**
     * Makes all subscriptions ready.
     *
     * @param started those that the job has read before: they are not moved
     * @throws PubSubException with every problem that was found, not only the first
     */
    void run(Set<SubscriptionDestination> started) throws IOException {
        config.subscriptions().forEach(this::look);
        throwProblems();
        for (SubscriptionDestination subscription : missing) {
            if (started.contains(subscription)) {
                LOG.warn(
                        "{}, which the job has been reading, is gone, and with it what was"
                                + " published and not read; it is created anew",
                        subscription);
            }
            create(subscription);
        }
        throwProblems();
        for (SubscriptionDestination subscription : config.subscriptions()) {
            if (!started.contains(subscription)) {
                move(subscription);
            }
        }
        throwProblems();
    }

    /**
     * Looks at all subscriptions and changes nothing. The topics of those that would be created
     * must exist.
     *
     * @throws PubSubException with every problem that was found, not only the first
     */
    void check() throws IOException {
        config.subscriptions().forEach(this::look);
        for (SubscriptionDestination subscription : missing) {
            TopicDestination topic = config.createOptions(subscription).topic();
            try {
                admin.describeTopic(topic.path());
            } catch (PubSubException e) {
                problem(
                        subscription,
                        e.status() == Status.NOT_FOUND
                                ? "would be created for the topic "
                                        + topic
                                        + ", which does not exist"
                                : "would be created for a topic that cannot be looked at: "
                                        + e.getMessage(),
                        e);
            }
        }
        throwProblems();
    }

    private void look(SubscriptionDestination subscription) {
        try {
            Map<String, String> settings = admin.describeSubscription(subscription.path());
            described.put(subscription, settings);
            check(subscription, settings);
        } catch (PubSubException e) {
            SubscriptionCreateOptions options = config.createOptions(subscription);
            if (e.status() == Status.NOT_FOUND && options != null) {
                missing.add(subscription);
                checkPlanned(subscription, options);
            } else if (e.status() == Status.NOT_FOUND) {
                problem(
                        subscription,
                        "does not exist; create it, or pass SubscriptionCreateOptions to"
                                + " subscription(…) to have the source create it",
                        e);
            } else if (e.status() == Status.PERMISSION_DENIED && options != null) {
                // Creating it tells whether it exists.
                missing.add(subscription);
                checkPlanned(subscription, options);
            } else if (e.status() == Status.PERMISSION_DENIED) {
                warnUnchecked(subscription);
            } else {
                problem(subscription, "cannot be looked at: " + e.getMessage(), e);
            }
        } catch (IOException e) {
            problem(subscription, "cannot be looked at: " + e.getMessage(), null);
        }
    }

    private void check(SubscriptionDestination subscription, Map<String, String> settings) {
        if (settings.get("detached").equals("true")) {
            problem(subscription, "is detached from its topic and gets no messages", null);
        }
        boolean ordering = settings.get("ordering").equals("true");
        if (config.orderingMode() == OrderingMode.PER_KEY && !ordering) {
            problem(
                    subscription,
                    "has message ordering off, which orderingMode PER_KEY needs; it cannot be"
                            + " turned on later, so the subscription has to be created anew",
                    null);
        }
        if (config.failurePolicy() == DeserializationFailurePolicy.NACK
                && !settings.containsKey("dead-letter-topic")) {
            problem(
                    subscription,
                    "has no dead-letter policy, which deserializationFailurePolicy NACK needs: a"
                            + " message that cannot be decoded would come again for ever",
                    null);
        }
        SubscriptionCreateOptions options = config.createOptions(subscription);
        if (options != null) {
            compare(subscription, settings, options);
        }
    }

    private void checkPlanned(
            SubscriptionDestination subscription, SubscriptionCreateOptions options) {
        if (config.orderingMode() == OrderingMode.PER_KEY && !options.messageOrdering()) {
            problem(
                    subscription,
                    "would be created without enableMessageOrdering, which orderingMode PER_KEY"
                            + " needs",
                    null);
        }
        if (config.failurePolicy() == DeserializationFailurePolicy.NACK
                && !options.hasDeadLetterPolicy()) {
            problem(
                    subscription,
                    "would be created without deadLetterPolicy, which"
                            + " deserializationFailurePolicy NACK needs",
                    null);
        }
    }

    private void compare(
            SubscriptionDestination subscription,
            Map<String, String> settings,
            SubscriptionCreateOptions options) {
        if (!settings.get("topic").equals(options.topic().path())) {
            problem(
                    subscription,
                    "exists and belongs to the topic "
                            + settings.get("topic")
                            + ", not to "
                            + options.topic(),
                    null);
        }
        if (!settings.getOrDefault("filter", "").equals(options.filter())) {
            problem(
                    subscription,
                    "exists with the filter '"
                            + settings.getOrDefault("filter", "")
                            + "', not '"
                            + options.filter()
                            + "'",
                    null);
        }
        if (options.messageOrdering() && settings.get("ordering").equals("false")) {
            problem(
                    subscription,
                    "exists with message ordering off, and enableMessageOrdering is wanted",
                    null);
        }
        List<String> differences = new ArrayList<>();
        options.toNative()
                .asMap()
                .forEach(
                        (key, wanted) -> {
                            boolean judged =
                                    key.equals("topic")
                                            || key.equals("filter")
                                            || key.equals("ordering")
                                            || key.startsWith("label.");
                            String actual = settings.get(key);
                            if (!judged && !wanted.equals(actual)) {
                                differences.add(key + " is " + actual + ", not " + wanted);
                            }
                        });
        if (!differences.isEmpty()) {
            LOG.info("{} exists and keeps its settings: {}", subscription, differences);
        }
    }

    private void create(SubscriptionDestination subscription) {
        SubscriptionCreateOptions options = config.createOptions(subscription);
        try {
            boolean created = admin.createSubscription(subscription.path(), options.toNative());
            LOG.info(
                    created ? "Created {} with {}" : "{} exists already, not created with {}",
                    subscription,
                    options);
            if (!created) {
                lookAgain(subscription);
            }
        } catch (PubSubException e) {
            problem(subscription, "cannot be created: " + e.getMessage(), e);
        } catch (IOException e) {
            problem(subscription, "cannot be created: " + e.getMessage(), null);
        }
    }

    /** It was not there before, or could not be looked at. */
    private void lookAgain(SubscriptionDestination subscription) throws IOException {
        try {
            Map<String, String> settings = admin.describeSubscription(subscription.path());
            described.put(subscription, settings);
            check(subscription, settings);
        } catch (PubSubException e) {
            if (e.status() != Status.PERMISSION_DENIED) {
                throw e;
            }
            warnUnchecked(subscription);
        }
    }

    private static void warnUnchecked(SubscriptionDestination subscription) {
        LOG.warn(
                "{} cannot be looked at before the start, for want of the permission"
                        + " pubsub.subscriptions.get; it is read unchecked",
                subscription);
    }

    private void move(SubscriptionDestination subscription) {
        StartPosition position = config.startPosition();
        try {
            switch (position.kind()) {
                case EARLIEST:
                    warnUnlessRetained(subscription);
                    admin.seek(subscription.path(), Instant.EPOCH);
                    break;
                case LATEST:
                    admin.seek(subscription.path(), clock.get());
                    break;
                case TIMESTAMP:
                    if (position.timestamp().isBefore(clock.get())) {
                        warnUnlessRetained(subscription);
                    }
                    admin.seek(subscription.path(), position.timestamp());
                    break;
                case SNAPSHOT:
                    admin.seekToSnapshot(
                            subscription.path(), position.snapshotPath(subscription.project()));
                    break;
                default:
                    return;
            }
            LOG.info("Moved {} to {}", subscription, position);
        } catch (PubSubException e) {
            problem(subscription, cannotMove(e), e);
        } catch (IOException e) {
            problem(subscription, cannotMove(e), null);
        }
    }

    private String cannotMove(IOException e) {
        return "cannot be moved to the start position "
                + config.startPosition()
                + ": "
                + e.getMessage();
    }

    private void warnUnlessRetained(SubscriptionDestination subscription) {
        Map<String, String> settings = described.get(subscription);
        if (settings != null
                && settings.get("retain-acked-messages").equals("false")
                && !settings.containsKey("topic-message-retention-ms")) {
            LOG.warn(
                    "{} retains no acknowledged messages, and neither does its topic: the start"
                            + " position {} brings back none of them",
                    subscription,
                    config.startPosition());
        }
    }

    private void problem(
            SubscriptionDestination subscription, String what, @Nullable PubSubException failure) {
        problems.add(subscription + " " + what);
        if (firstFailure == null) {
            firstFailure =
                    failure != null
                            ? failure
                            : new PubSubException(
                                    Status.FAILED_PRECONDITION, subscription.path(), what);
        }
    }

    private void throwProblems() throws PubSubException {
        if (problems.isEmpty()) {
            return;
        }
        String all =
                problems.size() == 1
                        ? problems.get(0)
                        : problems.size()
                                + " problems with the subscriptions:\n  "
                                + String.join("\n  ", problems);
        throw new PubSubException(
                firstFailure.status(), firstFailure.resource(), all, firstFailure);
    }
}

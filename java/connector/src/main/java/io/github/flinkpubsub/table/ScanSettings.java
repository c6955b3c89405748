package io.github.flinkpubsub.table;

import static io.github.flinkpubsub.table.PubSubConnectorOptions.*;

import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.source.DeserializationFailurePolicy;
import io.github.flinkpubsub.source.OrderingMode;
import io.github.flinkpubsub.source.PubSubSource;
import io.github.flinkpubsub.source.PubSubSourceBuilder;
import io.github.flinkpubsub.source.PubSubSubscriberOptions;
import io.github.flinkpubsub.source.StartPosition;
import io.github.flinkpubsub.source.SubscriptionCreateOptions;

import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.factories.FactoryUtil;

import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import javax.annotation.Nullable;

/** What a table's options say about reading. */
final class ScanSettings {

    private static final String CONTINUE = "continue-from-subscription";

    private static final Choice<StartPosition.Kind> STARTUP_MODES =
            new Choice<StartPosition.Kind>()
                    .with(CONTINUE, StartPosition.Kind.CONTINUE)
                    .with("earliest-retained", StartPosition.Kind.EARLIEST)
                    .with("latest", StartPosition.Kind.LATEST)
                    .with("timestamp", StartPosition.Kind.TIMESTAMP)
                    .with("snapshot", StartPosition.Kind.SNAPSHOT);

    private static final Choice<BoundedMode> BOUNDED_MODES =
            new Choice<BoundedMode>()
                    .with("unbounded", BoundedMode.UNBOUNDED)
                    .with("timestamp", BoundedMode.TIMESTAMP)
                    .with("idle", BoundedMode.IDLE);

    private static final Choice<OrderingMode> ORDERING_MODES =
            new Choice<OrderingMode>()
                    .with("none", OrderingMode.NONE)
                    .with("per-key", OrderingMode.PER_KEY);

    private static final Choice<DeserializationFailurePolicy> FAILURE_POLICIES =
            new Choice<DeserializationFailurePolicy>()
                    .with("fail", DeserializationFailurePolicy.FAIL)
                    .with("drop", DeserializationFailurePolicy.DROP)
                    .with("nack", DeserializationFailurePolicy.NACK);

    static final Settings<PubSubSourceBuilder<RowData>> SOURCE =
            new Settings<PubSubSourceBuilder<RowData>>()
                    .with(
                            SCAN_ORDERING_MODE,
                            "orderingMode",
                            (b, v) -> b.orderingMode(ORDERING_MODES.parse(SCAN_ORDERING_MODE, v)))
                    .with(
                            SCAN_DESERIALIZATION_FAILURE_POLICY,
                            "deserializationFailurePolicy",
                            (b, v) ->
                                    b.deserializationFailurePolicy(
                                            FAILURE_POLICIES.parse(
                                                    SCAN_DESERIALIZATION_FAILURE_POLICY, v)))
                    .with(
                            SCAN_TIMESTAMP_ATTRIBUTE,
                            "timestampAttribute",
                            PubSubSourceBuilder::timestampAttribute)
                    .with(
                            SCAN_MESSAGE_RATE_LIMIT,
                            "messageRateLimit",
                            PubSubSourceBuilder::messageRateLimit)
                    .with(
                            SCAN_BOUNDED_TIMESTAMP_MILLIS,
                            "stopAt",
                            (b, v) -> b.stopAt(Instant.ofEpochMilli(v)))
                    .with(
                            SCAN_BOUNDED_IDLE_TIMEOUT,
                            "stopWhenIdle",
                            PubSubSourceBuilder::stopWhenIdle)
                    .with(ENDPOINT, "endpoint", PubSubSourceBuilder::endpoint)
                    .with(
                            EMULATOR_ENDPOINT,
                            "emulatorEndpoint",
                            PubSubSourceBuilder::emulatorEndpoint)
                    .with(
                            SERVICE_ACCOUNT_KEY_FILE,
                            "serviceAccountKeyFile",
                            PubSubSourceBuilder::serviceAccountKeyFile)
                    .with(QUOTA_PROJECT, "quotaProject", PubSubSourceBuilder::quotaProject)
                    .with(
                            CA_CERTIFICATE_FILE,
                            "caCertificateFile",
                            PubSubSourceBuilder::caCertificateFile);

    static final Settings<PubSubSubscriberOptions.Builder> SUBSCRIBER =
            new Settings<PubSubSubscriberOptions.Builder>()
                    .with(
                            SCAN_MAX_OUTSTANDING_MESSAGES,
                            "maxOutstandingMessages",
                            PubSubSubscriberOptions.Builder::maxOutstandingMessages)
                    .with(
                            SCAN_MAX_OUTSTANDING_BYTES,
                            "maxOutstandingBytes",
                            bytes(PubSubSubscriberOptions.Builder::maxOutstandingBytes))
                    .with(
                            SCAN_MAX_BUFFERED_BYTES,
                            "maxBufferedBytes",
                            bytes(PubSubSubscriberOptions.Builder::maxBufferedBytes))
                    .with(
                            SCAN_PARALLEL_PULL_COUNT,
                            "parallelPullCount",
                            PubSubSubscriberOptions.Builder::parallelPullCount)
                    .with(
                            SCAN_ACK_MAX_EXTENSION_PERIOD,
                            "maxAckExtensionPeriod",
                            PubSubSubscriberOptions.Builder::maxAckExtensionPeriod)
                    .with(
                            SCAN_ACK_MIN_DURATION_PER_EXTENSION,
                            "minDurationPerAckExtension",
                            PubSubSubscriberOptions.Builder::minDurationPerAckExtension)
                    .with(
                            SCAN_ACK_MAX_DURATION_PER_EXTENSION,
                            "maxDurationPerAckExtension",
                            PubSubSubscriberOptions.Builder::maxDurationPerAckExtension)
                    .with(
                            SCAN_ACK_AWAIT_CONFIRMATION,
                            "awaitAckConfirmation",
                            PubSubSubscriberOptions.Builder::awaitAckConfirmation)
                    .with(
                            SCAN_MAX_RECORDS_PER_FETCH,
                            "maxRecordsPerFetch",
                            PubSubSubscriberOptions.Builder::maxRecordsPerFetch)
                    .with(
                            SCAN_FIRST_CHECKPOINT_TIMEOUT,
                            "firstCheckpointTimeout",
                            PubSubSubscriberOptions.Builder::firstCheckpointTimeout)
                    .with(
                            SCAN_SHUTDOWN_TIMEOUT,
                            "shutdownTimeout",
                            PubSubSubscriberOptions.Builder::shutdownTimeout);

    static final Settings<SubscriptionCreateOptions.Builder> AUTO_CREATE =
            new Settings<SubscriptionCreateOptions.Builder>()
                    .with(
                            SCAN_AUTO_CREATE_ACK_DEADLINE,
                            "ackDeadline",
                            SubscriptionCreateOptions.Builder::ackDeadline)
                    .with(
                            SCAN_AUTO_CREATE_MESSAGE_ORDERING,
                            "enableMessageOrdering",
                            SubscriptionCreateOptions.Builder::enableMessageOrdering)
                    .with(
                            SCAN_AUTO_CREATE_MESSAGE_RETENTION,
                            "messageRetention",
                            SubscriptionCreateOptions.Builder::messageRetention)
                    .with(
                            SCAN_AUTO_CREATE_RETAIN_ACKED_MESSAGES,
                            "retainAckedMessages",
                            SubscriptionCreateOptions.Builder::retainAckedMessages)
                    .with(
                            SCAN_AUTO_CREATE_EXPIRATION_TTL,
                            "expirationTtl",
                            SubscriptionCreateOptions.Builder::expirationTtl)
                    .withFlag(
                            SCAN_AUTO_CREATE_NEVER_EXPIRE,
                            "neverExpire",
                            SubscriptionCreateOptions.Builder::neverExpire)
                    .with(
                            SCAN_AUTO_CREATE_FILTER,
                            "filter",
                            SubscriptionCreateOptions.Builder::filter)
                    .with(
                            SCAN_AUTO_CREATE_EXACTLY_ONCE,
                            "enableExactlyOnceDelivery",
                            SubscriptionCreateOptions.Builder::enableExactlyOnceDelivery)
                    .with(
                            SCAN_AUTO_CREATE_LABELS,
                            "labels",
                            SubscriptionCreateOptions.Builder::labels);

    /** What is not the matter of one setter alone. */
    private static final List<ConfigOption<?>> OTHERS =
            List.of(
                    SUBSCRIPTION,
                    SCAN_STARTUP_MODE,
                    SCAN_STARTUP_TIMESTAMP_MILLIS,
                    SCAN_STARTUP_SNAPSHOT,
                    SCAN_BOUNDED_MODE,
                    SCAN_AUTO_CREATE_TOPICS,
                    SCAN_AUTO_CREATE_DEAD_LETTER_TOPIC,
                    SCAN_AUTO_CREATE_MAX_DELIVERY_ATTEMPTS,
                    FactoryUtil.SOURCE_PARALLELISM);

    private final ReadableConfig options;
    private final String project;
    private final List<SubscriptionDestination> subscriptions;

    private ScanSettings(ReadableConfig options) {
        this.options = options;
        project = Settings.checked(PROJECT, () -> Names.project(options.get(PROJECT)));
        subscriptions = subscriptions();
    }

    /** All options for reading. */
    static Set<ConfigOption<?>> options() {
        Set<ConfigOption<?>> all = new LinkedHashSet<>(OTHERS);
        all.addAll(SOURCE.options());
        all.addAll(SUBSCRIBER.options());
        all.addAll(AUTO_CREATE.options());
        return all;
    }

    /**
     * Checks the options.
     *
     * @throws ValidationException when one is wrong or two contradict each other; names them
     */
    static ScanSettings of(ReadableConfig options) {
        ScanSettings settings = new ScanSettings(options);
        settings.builder();
        settings.parallelism();
        return settings;
    }

    /** A builder that has everything but the schema. */
    PubSubSourceBuilder<RowData> builder() {
        checkBounds();
        PubSubSourceBuilder<RowData> builder = PubSubSource.builder();
        SOURCE.apply(options, builder);
        builder.startPosition(startPosition());
        PubSubSubscriberOptions.Builder subscriber = PubSubSubscriberOptions.builder();
        SUBSCRIBER.apply(options, subscriber);
        builder.subscriberOptions(SUBSCRIBER.translated(subscriber::build));
        Map<SubscriptionDestination, TopicDestination> topics = topics();
        for (SubscriptionDestination subscription : subscriptions) {
            Settings.checked(
                    SUBSCRIPTION,
                    () ->
                            topics.isEmpty()
                                    ? builder.subscription(subscription)
                                    : builder.subscription(
                                            subscription, createOptions(topics.get(subscription))));
        }
        if (orderingMode() == OrderingMode.PER_KEY
                && options.getOptional(SCAN_PARALLEL_PULL_COUNT).orElse(1) > 1) {
            throw new ValidationException(
                    "'scan.parallel-pull-count' must be 1 with 'scan.ordering-mode' = 'per-key':"
                            + " several streams would break the order");
        }
        return builder;
    }

    @Nullable
    Integer parallelism() {
        return parallelism(options, FactoryUtil.SOURCE_PARALLELISM);
    }

    @Nullable
    static Integer parallelism(ReadableConfig options, ConfigOption<Integer> option) {
        Integer parallelism = options.getOptional(option).orElse(null);
        if (parallelism != null && parallelism < 1) {
            throw Settings.invalid(option, "it must be at least 1, not " + parallelism);
        }
        return parallelism;
    }

    /** The attribute that holds the event time; null for the publish time. */
    @Nullable
    String timestampAttribute() {
        return options.getOptional(SCAN_TIMESTAMP_ATTRIBUTE).orElse(null);
    }

    /** What EXPLAIN and error messages say. */
    String summary() {
        StringBuilder summary = new StringBuilder("subscriptions=").append(subscriptions);
        summary.append(", startup=").append(startPosition());
        if (orderingMode() == OrderingMode.PER_KEY) {
            summary.append(", ordering=per-key");
        }
        BoundedMode bounded = boundedMode();
        if (bounded == BoundedMode.TIMESTAMP) {
            Instant end = Instant.ofEpochMilli(options.get(SCAN_BOUNDED_TIMESTAMP_MILLIS));
            summary.append(", bounded=at ").append(end);
        } else if (bounded == BoundedMode.IDLE) {
            summary.append(", bounded=when idle for ")
                    .append(options.get(SCAN_BOUNDED_IDLE_TIMEOUT));
        }
        return summary.toString();
    }

    private OrderingMode orderingMode() {
        return options.getOptional(SCAN_ORDERING_MODE)
                .map(mode -> ORDERING_MODES.parse(SCAN_ORDERING_MODE, mode))
                .orElse(OrderingMode.NONE);
    }

    private BoundedMode boundedMode() {
        return options.getOptional(SCAN_BOUNDED_MODE)
                .map(mode -> BOUNDED_MODES.parse(SCAN_BOUNDED_MODE, mode))
                .orElse(BoundedMode.UNBOUNDED);
    }

    private List<SubscriptionDestination> subscriptions() {
        List<String> names = options.getOptional(SUBSCRIPTION).orElse(List.of());
        if (names.isEmpty()) {
            throw new ValidationException(
                    "'subscription' is missing: a table is read through at least one"
                            + " subscription; several are separated by ';'");
        }
        List<SubscriptionDestination> subscriptions = new ArrayList<>();
        for (String name : names) {
            subscriptions.add(
                    Settings.checked(SUBSCRIPTION, () -> Names.subscription(project, name.trim())));
        }
        return subscriptions;
    }

    private StartPosition startPosition() {
        StartPosition.Kind kind =
                STARTUP_MODES.parse(
                        SCAN_STARTUP_MODE, options.getOptional(SCAN_STARTUP_MODE).orElse(CONTINUE));
        belongsTo(
                SCAN_STARTUP_TIMESTAMP_MILLIS,
                SCAN_STARTUP_MODE,
                "timestamp",
                kind == StartPosition.Kind.TIMESTAMP);
        belongsTo(
                SCAN_STARTUP_SNAPSHOT,
                SCAN_STARTUP_MODE,
                "snapshot",
                kind == StartPosition.Kind.SNAPSHOT);
        switch (kind) {
            case EARLIEST:
                return StartPosition.earliestRetained();
            case LATEST:
                return StartPosition.latest();
            case TIMESTAMP:
                return StartPosition.fromTimestamp(
                        Instant.ofEpochMilli(options.get(SCAN_STARTUP_TIMESTAMP_MILLIS)));
            case SNAPSHOT:
                return Settings.checked(
                        SCAN_STARTUP_SNAPSHOT,
                        () -> StartPosition.fromSnapshot(options.get(SCAN_STARTUP_SNAPSHOT)));
            default:
                return StartPosition.continueFromSubscription();
        }
    }

    private void checkBounds() {
        BoundedMode mode = boundedMode();
        belongsTo(
                SCAN_BOUNDED_TIMESTAMP_MILLIS,
                SCAN_BOUNDED_MODE,
                "timestamp",
                mode == BoundedMode.TIMESTAMP);
        belongsTo(SCAN_BOUNDED_IDLE_TIMEOUT, SCAN_BOUNDED_MODE, "idle", mode == BoundedMode.IDLE);
    }

    /** An option is needed with a value of another one, and means nothing without. */
    private void belongsTo(
            ConfigOption<?> option, ConfigOption<String> mode, String value, boolean wanted) {
        boolean given = options.getOptional(option).isPresent();
        if (wanted && !given) {
            throw new ValidationException(
                    "'" + mode.key() + "' = '" + value + "' needs '" + option.key() + "'");
        }
        if (given && !wanted) {
            throw new ValidationException(
                    "'"
                            + option.key()
                            + "' has no meaning without '"
                            + mode.key()
                            + "' = '"
                            + value
                            + "'");
        }
    }

    /** The topics of subscriptions to create; empty when all have to exist. */
    private Map<SubscriptionDestination, TopicDestination> topics() {
        Map<String, String> named = options.getOptional(SCAN_AUTO_CREATE_TOPICS).orElse(Map.of());
        if (named.isEmpty()) {
            List<String> given = AUTO_CREATE.given(options);
            options.getOptional(SCAN_AUTO_CREATE_DEAD_LETTER_TOPIC)
                    .ifPresent(topic -> given.add(SCAN_AUTO_CREATE_DEAD_LETTER_TOPIC.key()));
            options.getOptional(SCAN_AUTO_CREATE_MAX_DELIVERY_ATTEMPTS)
                    .ifPresent(n -> given.add(SCAN_AUTO_CREATE_MAX_DELIVERY_ATTEMPTS.key()));
            if (!given.isEmpty()) {
                throw new ValidationException(
                        "'"
                                + String.join("', '", given)
                                + "' has no meaning without 'scan.auto-create.topics"
                                + ".<subscription>' = '<topic>', which authorises to create the"
                                + " subscription");
            }
            return Map.of();
        }
        Map<SubscriptionDestination, TopicDestination> topics = new LinkedHashMap<>();
        named.forEach(
                (subscription, topic) ->
                        topics.put(
                                Settings.checked(
                                        SCAN_AUTO_CREATE_TOPICS,
                                        () -> Names.subscription(project, subscription.trim())),
                                Settings.checked(
                                        SCAN_AUTO_CREATE_TOPICS,
                                        () -> Names.topic(project, topic.trim()))));
        if (!topics.keySet().equals(new LinkedHashSet<>(subscriptions))) {
            throw new ValidationException(
                    "'scan.auto-create.topics' must name the same subscriptions as 'subscription': "
                            + topics.keySet()
                            + " are not "
                            + subscriptions);
        }
        return topics;
    }

    private SubscriptionCreateOptions createOptions(TopicDestination topic) {
        SubscriptionCreateOptions.Builder builder =
                SubscriptionCreateOptions.builder().topic(topic);
        AUTO_CREATE.apply(options, builder);
        String letters = options.getOptional(SCAN_AUTO_CREATE_DEAD_LETTER_TOPIC).orElse(null);
        Integer attempts = options.getOptional(SCAN_AUTO_CREATE_MAX_DELIVERY_ATTEMPTS).orElse(null);
        if ((letters == null) != (attempts == null)) {
            throw new ValidationException(
                    "'scan.auto-create.dead-letter.topic' and"
                            + " 'scan.auto-create.dead-letter.max-delivery-attempts' need each"
                            + " other: set both or none");
        }
        if (letters != null) {
            TopicDestination deadLetters =
                    Settings.checked(
                            SCAN_AUTO_CREATE_DEAD_LETTER_TOPIC,
                            () -> Names.topic(project, letters));
            Settings.checked(
                    SCAN_AUTO_CREATE_MAX_DELIVERY_ATTEMPTS,
                    () -> builder.deadLetterPolicy(deadLetters, attempts));
        }
        return AUTO_CREATE.translated(builder::build);
    }

    static <B> java.util.function.BiConsumer<B, MemorySize> bytes(
            java.util.function.ObjLongConsumer<B> setter) {
        return (builder, size) -> setter.accept(builder, size.getBytes());
    }

    private enum BoundedMode {
        UNBOUNDED,
        TIMESTAMP,
        IDLE
    }
}

package io.github.flinkpubsub.table;

import static io.github.flinkpubsub.table.PubSubConnectorOptions.*;

import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.sink.Compression;
import io.github.flinkpubsub.sink.CreateDisposition;
import io.github.flinkpubsub.sink.FailedMessageHandler;
import io.github.flinkpubsub.sink.PubSubPublisherOptions;
import io.github.flinkpubsub.sink.PubSubSink;
import io.github.flinkpubsub.sink.PubSubSinkBuilder;
import io.github.flinkpubsub.sink.TopicCreateOptions;
import io.github.flinkpubsub.wire.MessageLimits;

import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.factories.FactoryUtil;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

import javax.annotation.Nullable;

/** What a table's options say about writing. */
final class SinkSettings {

    /** Google's Java publisher compresses from this size on. */
    private static final int DEFAULT_COMPRESSION_THRESHOLD = 240;

    private static final Choice<CreateDisposition> DISPOSITIONS =
            new Choice<CreateDisposition>()
                    .with("create-if-needed", CreateDisposition.CREATE_IF_NEEDED)
                    .with("create-never", CreateDisposition.CREATE_NEVER);

    private static final Choice<FailurePolicy> FAILURE_POLICIES =
            new Choice<FailurePolicy>()
                    .with("fail", FailurePolicy.FAIL)
                    .with("drop", FailurePolicy.DROP)
                    .with("dead-letter", FailurePolicy.DEAD_LETTER);

    private static final Choice<Boolean> COMPRESSIONS =
            new Choice<Boolean>().with("none", false).with("gzip", true);

    static final Settings<PubSubSinkBuilder<RowData>> SINK =
            new Settings<PubSubSinkBuilder<RowData>>()
                    .with(
                            SINK_CREATE_DISPOSITION,
                            "createDisposition",
                            (b, v) ->
                                    b.createDisposition(
                                            DISPOSITIONS.parse(SINK_CREATE_DISPOSITION, v)))
                    .with(ENDPOINT, "endpoint", PubSubSinkBuilder::endpoint)
                    .with(
                            EMULATOR_ENDPOINT,
                            "emulatorEndpoint",
                            PubSubSinkBuilder::emulatorEndpoint)
                    .with(
                            SERVICE_ACCOUNT_KEY_FILE,
                            "serviceAccountKeyFile",
                            PubSubSinkBuilder::serviceAccountKeyFile)
                    .with(QUOTA_PROJECT, "quotaProject", PubSubSinkBuilder::quotaProject)
                    .with(
                            CA_CERTIFICATE_FILE,
                            "caCertificateFile",
                            PubSubSinkBuilder::caCertificateFile);

    static final Settings<PubSubPublisherOptions.Builder> PUBLISHER =
            new Settings<PubSubPublisherOptions.Builder>()
                    .with(
                            SINK_BATCHING_ELEMENT_COUNT_THRESHOLD,
                            "batchElementCountThreshold",
                            PubSubPublisherOptions.Builder::batchElementCountThreshold)
                    .with(
                            SINK_BATCHING_REQUEST_BYTE_THRESHOLD,
                            "batchRequestByteThreshold",
                            (b, v) -> b.batchRequestByteThreshold(clamped(v)))
                    .with(
                            SINK_BATCHING_DELAY_THRESHOLD,
                            "batchDelayThreshold",
                            PubSubPublisherOptions.Builder::batchDelayThreshold)
                    .with(
                            SINK_MESSAGE_ORDERING,
                            "enableMessageOrdering",
                            PubSubPublisherOptions.Builder::enableMessageOrdering)
                    .with(
                            SINK_MAX_IN_FLIGHT_MESSAGES,
                            "maxInFlightMessages",
                            PubSubPublisherOptions.Builder::maxInFlightMessages)
                    .with(
                            SINK_MAX_IN_FLIGHT_BYTES,
                            "maxInFlightBytes",
                            ScanSettings.bytes(PubSubPublisherOptions.Builder::maxInFlightBytes))
                    .with(
                            SINK_MAX_ACTIVE_PUBLISHERS,
                            "maxActivePublishers",
                            PubSubPublisherOptions.Builder::maxActivePublishers)
                    .with(
                            SINK_PUBLISHER_IDLE_TIMEOUT,
                            "publisherIdleTimeout",
                            PubSubPublisherOptions.Builder::publisherIdleTimeout)
                    .with(
                            SINK_RETRY_INITIAL_DELAY,
                            "retryInitialDelay",
                            PubSubPublisherOptions.Builder::retryInitialDelay)
                    .with(
                            SINK_RETRY_DELAY_MULTIPLIER,
                            "retryDelayMultiplier",
                            PubSubPublisherOptions.Builder::retryDelayMultiplier)
                    .with(
                            SINK_RETRY_MAX_DELAY,
                            "retryMaxDelay",
                            PubSubPublisherOptions.Builder::retryMaxDelay)
                    .with(
                            SINK_RETRY_TOTAL_TIMEOUT,
                            "retryTotalTimeout",
                            PubSubPublisherOptions.Builder::retryTotalTimeout)
                    .with(
                            SINK_RETRY_REQUEST_TIMEOUT,
                            "requestTimeout",
                            PubSubPublisherOptions.Builder::requestTimeout)
                    .with(
                            SINK_RECOVERY_INITIAL_BACKOFF,
                            "recoveryInitialBackoff",
                            PubSubPublisherOptions.Builder::recoveryInitialBackoff)
                    .with(
                            SINK_RECOVERY_MAX_BACKOFF,
                            "recoveryMaxBackoff",
                            PubSubPublisherOptions.Builder::recoveryMaxBackoff)
                    .with(
                            SINK_RECOVERY_MAX_ATTEMPTS,
                            "recoveryMaxAttempts",
                            PubSubPublisherOptions.Builder::recoveryMaxAttempts)
                    .with(
                            SINK_PUBLISH_PROGRESS_TIMEOUT,
                            "publishProgressTimeout",
                            PubSubPublisherOptions.Builder::publishProgressTimeout)
                    .with(
                            SINK_MAX_CONSECUTIVE_REJECTIONS,
                            "maxConsecutiveRejections",
                            PubSubPublisherOptions.Builder::maxConsecutiveRejections)
                    .with(
                            SINK_SHUTDOWN_TIMEOUT,
                            "shutdownTimeout",
                            PubSubPublisherOptions.Builder::shutdownTimeout)
                    .with(
                            SINK_METRICS_PER_DESTINATION,
                            "perDestinationMetrics",
                            PubSubPublisherOptions.Builder::perDestinationMetrics);

    static final Settings<TopicCreateOptions.Builder> AUTO_CREATE =
            new Settings<TopicCreateOptions.Builder>()
                    .with(
                            SINK_AUTO_CREATE_MESSAGE_RETENTION,
                            "messageRetention",
                            TopicCreateOptions.Builder::messageRetention)
                    .with(
                            SINK_AUTO_CREATE_KMS_KEY_NAME,
                            "kmsKeyName",
                            TopicCreateOptions.Builder::kmsKeyName)
                    .with(
                            SINK_AUTO_CREATE_ALLOWED_REGIONS,
                            "allowedPersistenceRegions",
                            (b, v) ->
                                    b.allowedPersistenceRegions(
                                            v.stream().map(String::trim).toArray(String[]::new)))
                    .with(
                            SINK_AUTO_CREATE_ENFORCE_IN_TRANSIT,
                            "enforceInTransit",
                            TopicCreateOptions.Builder::enforceInTransit)
                    .with(SINK_AUTO_CREATE_LABELS, "labels", TopicCreateOptions.Builder::labels);

    /** What is not the matter of one setter alone. */
    private static final List<ConfigOption<?>> OTHERS =
            List.of(
                    TOPIC,
                    SINK_FAILURE_POLICY,
                    SINK_DEAD_LETTER_TOPIC,
                    SINK_COMPRESSION,
                    SINK_COMPRESSION_THRESHOLD,
                    SINK_TIMESTAMP_ATTRIBUTE,
                    FactoryUtil.SINK_PARALLELISM);

    private final ReadableConfig options;
    private final String project;
    @Nullable private final TopicDestination topic;

    private SinkSettings(ReadableConfig options) {
        this.options = options;
        project = Settings.checked(PROJECT, () -> Names.project(options.get(PROJECT)));
        topic = options.getOptional(TOPIC).map(name -> topic(TOPIC, name)).orElse(null);
    }

    /** All options for writing. */
    static Set<ConfigOption<?>> options() {
        Set<ConfigOption<?>> all = new LinkedHashSet<>(OTHERS);
        all.addAll(SINK.options());
        all.addAll(PUBLISHER.options());
        all.addAll(AUTO_CREATE.options());
        return all;
    }

    /**
     * Checks the options.
     *
     * @param columns the metadata that the table's columns are written to
     * @throws ValidationException when one is wrong or two contradict each other; names them
     */
    static SinkSettings of(ReadableConfig options, Set<WritableMetadata> columns) {
        SinkSettings settings = new SinkSettings(options);
        settings.builder();
        settings.parallelism();
        if (settings.topic == null && !columns.contains(WritableMetadata.TOPIC)) {
            throw new ValidationException(
                    "'topic' is missing: a table is written to one topic, or to a topic for each"
                            + " row with a column METADATA FROM 'topic'");
        }
        if (columns.contains(WritableMetadata.ORDERING_KEY)
                && !options.getOptional(SINK_MESSAGE_ORDERING).orElse(false)) {
            throw new ValidationException(
                    "a column METADATA FROM 'ordering-key' needs"
                            + " 'sink.message-ordering.enabled' = 'true'");
        }
        if (columns.contains(WritableMetadata.TIMESTAMP) && settings.timestampAttribute() == null) {
            throw new ValidationException(
                    "a column METADATA FROM 'timestamp' needs 'sink.timestamp-attribute', the"
                            + " attribute to write it to");
        }
        return settings;
    }

    /** A builder that has everything but topic and serializer. */
    PubSubSinkBuilder<RowData> builder() {
        PubSubSinkBuilder<RowData> builder = PubSubSink.builder();
        SINK.apply(options, builder);
        PubSubPublisherOptions.Builder publisher = PubSubPublisherOptions.builder();
        PUBLISHER.apply(options, publisher);
        publisher.compression(compression());
        builder.publisherOptions(PUBLISHER.translated(publisher::build));
        builder.failedMessageHandler(failedMessageHandler());
        List<String> creation = AUTO_CREATE.given(options);
        if (!creation.isEmpty()) {
            if (disposition() == CreateDisposition.CREATE_NEVER) {
                throw new ValidationException(
                        "'"
                                + String.join("', '", creation)
                                + "' has no meaning with 'sink.create-disposition' ="
                                + " 'create-never'");
            }
            TopicCreateOptions.Builder topics = TopicCreateOptions.builder();
            AUTO_CREATE.apply(options, topics);
            builder.topicCreateOptions(AUTO_CREATE.translated(topics::build));
        }
        timestampAttribute();
        return builder;
    }

    /** The topic of rows that name none; null when all have to. */
    @Nullable
    TopicDestination topic() {
        return topic;
    }

    /** The project of topics that a row names by their id. */
    String project() {
        return project;
    }

    @Nullable
    Integer parallelism() {
        return ScanSettings.parallelism(options, FactoryUtil.SINK_PARALLELISM);
    }

    /** The attribute that takes the event time; null for none. */
    @Nullable
    String timestampAttribute() {
        String attribute = options.getOptional(SINK_TIMESTAMP_ATTRIBUTE).orElse(null);
        if (attribute != null) {
            Settings.checked(
                    SINK_TIMESTAMP_ATTRIBUTE,
                    () -> {
                        MessageLimits.checkAttributeName("it", attribute);
                        return attribute;
                    });
        }
        return attribute;
    }

    /** What EXPLAIN and error messages say. */
    String summary() {
        StringBuilder summary = new StringBuilder("topic=");
        summary.append(topic == null ? "of each row" : topic);
        summary.append(", missing topics=");
        summary.append(
                disposition() == CreateDisposition.CREATE_NEVER ? "create-never" : "created");
        if (options.getOptional(SINK_MESSAGE_ORDERING).orElse(false)) {
            summary.append(", ordering=per-key");
        }
        options.getOptional(SINK_FAILURE_POLICY)
                .ifPresent(policy -> summary.append(", failures=").append(policy));
        return summary.toString();
    }

    private CreateDisposition disposition() {
        return options.getOptional(SINK_CREATE_DISPOSITION)
                .map(text -> DISPOSITIONS.parse(SINK_CREATE_DISPOSITION, text))
                .orElse(CreateDisposition.CREATE_IF_NEEDED);
    }

    private FailedMessageHandler failedMessageHandler() {
        FailurePolicy policy =
                options.getOptional(SINK_FAILURE_POLICY)
                        .map(text -> FAILURE_POLICIES.parse(SINK_FAILURE_POLICY, text))
                        .orElse(FailurePolicy.FAIL);
        String letters = options.getOptional(SINK_DEAD_LETTER_TOPIC).orElse(null);
        if (policy == FailurePolicy.DEAD_LETTER) {
            if (letters == null) {
                throw new ValidationException(
                        "'sink.failure-policy' = 'dead-letter' needs 'sink.dead-letter.topic'");
            }
            return FailedMessageHandler.sendToDeadLetterTopic(
                    topic(SINK_DEAD_LETTER_TOPIC, letters));
        }
        if (letters != null) {
            throw new ValidationException(
                    "'sink.dead-letter.topic' has no meaning without 'sink.failure-policy' ="
                            + " 'dead-letter'");
        }
        return policy == FailurePolicy.DROP
                ? FailedMessageHandler.logAndDrop()
                : FailedMessageHandler.failJob();
    }

    private Compression compression() {
        boolean gzip =
                options.getOptional(SINK_COMPRESSION)
                        .map(text -> COMPRESSIONS.parse(SINK_COMPRESSION, text))
                        .orElse(false);
        MemorySize threshold = options.getOptional(SINK_COMPRESSION_THRESHOLD).orElse(null);
        if (!gzip) {
            if (threshold != null) {
                throw new ValidationException(
                        "'sink.compression-threshold' has no meaning without 'sink.compression' ="
                                + " 'gzip'");
            }
            return Compression.none();
        }
        return Settings.checked(
                SINK_COMPRESSION_THRESHOLD,
                () ->
                        Compression.gzip(
                                threshold == null
                                        ? DEFAULT_COMPRESSION_THRESHOLD
                                        : clamped(threshold)));
    }

    private TopicDestination topic(ConfigOption<String> option, String name) {
        return Settings.checked(option, () -> Names.topic(project, name.trim()));
    }

    /** A size as the setters take it; they refuse the largest number. */
    private static int clamped(MemorySize size) {
        return (int) Math.min(size.getBytes(), Integer.MAX_VALUE);
    }

    private enum FailurePolicy {
        FAIL,
        DROP,
        DEAD_LETTER
    }
}

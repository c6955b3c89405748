package io.github.flinkpubsub.table;

import org.apache.flink.annotation.PublicEvolving;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.MemorySize;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * The options of a table with {@code 'connector' = 'pubsub'}. None has a default of its own: one
 * that is absent leaves the setter of the builder that it belongs to alone. {@code docs/sql.md}
 * describes all of them.
 */
@PublicEvolving
public final class PubSubConnectorOptions {

    // What both directions share.

    public static final ConfigOption<String> PROJECT =
            text("project", "The project of topics and subscriptions that are given by their id.");

    public static final ConfigOption<List<String>> SUBSCRIPTION =
            texts("subscription", "Ids or paths of the subscriptions to read.");

    public static final ConfigOption<String> TOPIC =
            text("topic", "Id or path of the topic to write to.");

    public static final ConfigOption<String> ENDPOINT =
            text("endpoint", "A regional or private endpoint, host:port.");

    public static final ConfigOption<String> EMULATOR_ENDPOINT =
            text("emulator-endpoint", "An emulator, host:port: plaintext, without credentials.");

    public static final ConfigOption<String> SERVICE_ACCOUNT_KEY_FILE =
            text("service-account-key-file", "A key file, read where the job runs.");

    public static final ConfigOption<String> QUOTA_PROJECT =
            text("quota-project", "The project that quota and billing are counted for.");

    public static final ConfigOption<String> CA_CERTIFICATE_FILE =
            text("ca-certificate-file", "Certificates to trust, a PEM file where the job runs.");

    // Reading.

    public static final ConfigOption<String> SCAN_STARTUP_MODE =
            text(
                    "scan.startup.mode",
                    "Where to start: continue-from-subscription, earliest-retained, latest,"
                            + " timestamp or snapshot.");

    public static final ConfigOption<Long> SCAN_STARTUP_TIMESTAMP_MILLIS =
            whole("scan.startup.timestamp-millis", "The publish time to start at.");

    public static final ConfigOption<String> SCAN_STARTUP_SNAPSHOT =
            text("scan.startup.snapshot", "Id or path of the snapshot to start at.");

    public static final ConfigOption<String> SCAN_BOUNDED_MODE =
            text("scan.bounded.mode", "When reading ends: unbounded, timestamp or idle.");

    public static final ConfigOption<Long> SCAN_BOUNDED_TIMESTAMP_MILLIS =
            whole("scan.bounded.timestamp-millis", "The publish time to end at.");

    public static final ConfigOption<Duration> SCAN_BOUNDED_IDLE_TIMEOUT =
            duration("scan.bounded.idle-timeout", "The silence to end with.");

    public static final ConfigOption<String> SCAN_ORDERING_MODE =
            text("scan.ordering-mode", "What is promised about order: none or per-key.");

    public static final ConfigOption<String> SCAN_DESERIALIZATION_FAILURE_POLICY =
            text(
                    "scan.deserialization-failure-policy",
                    "What becomes of a message that cannot be decoded: fail, drop or nack.");

    public static final ConfigOption<String> SCAN_TIMESTAMP_ATTRIBUTE =
            text("scan.timestamp-attribute", "The attribute that holds the event time.");

    public static final ConfigOption<Integer> SCAN_MESSAGE_RATE_LIMIT =
            number("scan.message-rate-limit", "Messages a second that each subtask emits.");

    public static final ConfigOption<Long> SCAN_MAX_OUTSTANDING_MESSAGES =
            whole(
                    "scan.flow-control.max-outstanding-element-count",
                    "Messages leased and unacknowledged, per split.");

    public static final ConfigOption<MemorySize> SCAN_MAX_OUTSTANDING_BYTES =
            size(
                    "scan.flow-control.max-outstanding-request-bytes",
                    "Bytes leased and unacknowledged, per split.");

    public static final ConfigOption<MemorySize> SCAN_MAX_BUFFERED_BYTES =
            size("scan.max-buffered-bytes", "Payload held and not yet emitted, per split.");

    public static final ConfigOption<Integer> SCAN_PARALLEL_PULL_COUNT =
            number("scan.parallel-pull-count", "Streams per split.");

    public static final ConfigOption<Duration> SCAN_ACK_MAX_EXTENSION_PERIOD =
            duration("scan.ack.max-extension-period", "The longest lease.");

    public static final ConfigOption<Duration> SCAN_ACK_MIN_DURATION_PER_EXTENSION =
            duration("scan.ack.min-duration-per-extension", "The shortest single extension.");

    public static final ConfigOption<Duration> SCAN_ACK_MAX_DURATION_PER_EXTENSION =
            duration("scan.ack.max-duration-per-extension", "The longest single extension.");

    public static final ConfigOption<Boolean> SCAN_ACK_AWAIT_CONFIRMATION =
            flag("scan.ack.await-confirmation", "Whether checkpoints wait for acks.");

    public static final ConfigOption<Integer> SCAN_MAX_RECORDS_PER_FETCH =
            number("scan.max-records-per-fetch", "Messages that small responses are merged to.");

    public static final ConfigOption<Duration> SCAN_FIRST_CHECKPOINT_TIMEOUT =
            duration(
                    "scan.first-checkpoint-timeout",
                    "How long messages may wait for the first completed checkpoint.");

    public static final ConfigOption<Duration> SCAN_SHUTDOWN_TIMEOUT =
            duration("scan.shutdown-timeout", "What closing a reader may take.");

    public static final ConfigOption<Map<String, String>> SCAN_AUTO_CREATE_TOPICS =
            map(
                    "scan.auto-create.topics",
                    "By subscription, the topic to create it with when it is missing.");

    public static final ConfigOption<Duration> SCAN_AUTO_CREATE_ACK_DEADLINE =
            duration("scan.auto-create.ack-deadline", "The ack deadline of new subscriptions.");

    public static final ConfigOption<Boolean> SCAN_AUTO_CREATE_MESSAGE_ORDERING =
            flag(
                    "scan.auto-create.message-ordering.enabled",
                    "Whether new subscriptions deliver messages of one key in order.");

    public static final ConfigOption<Duration> SCAN_AUTO_CREATE_MESSAGE_RETENTION =
            duration(
                    "scan.auto-create.message-retention",
                    "How long new subscriptions keep messages.");

    public static final ConfigOption<Boolean> SCAN_AUTO_CREATE_RETAIN_ACKED_MESSAGES =
            flag(
                    "scan.auto-create.retain-acked-messages",
                    "Whether new subscriptions keep acknowledged messages too.");

    public static final ConfigOption<Duration> SCAN_AUTO_CREATE_EXPIRATION_TTL =
            duration(
                    "scan.auto-create.expiration-ttl",
                    "After how long without a consumer new subscriptions are deleted.");

    public static final ConfigOption<Boolean> SCAN_AUTO_CREATE_NEVER_EXPIRE =
            flag(
                    "scan.auto-create.never-expire",
                    "Whether new subscriptions are kept without a consumer.");

    public static final ConfigOption<String> SCAN_AUTO_CREATE_DEAD_LETTER_TOPIC =
            text(
                    "scan.auto-create.dead-letter.topic",
                    "Where new subscriptions forward what was delivered too often.");

    public static final ConfigOption<Integer> SCAN_AUTO_CREATE_MAX_DELIVERY_ATTEMPTS =
            number(
                    "scan.auto-create.dead-letter.max-delivery-attempts",
                    "How often new subscriptions deliver a message before they forward it.");

    public static final ConfigOption<String> SCAN_AUTO_CREATE_FILTER =
            text("scan.auto-create.filter", "Which messages new subscriptions get.");

    public static final ConfigOption<Boolean> SCAN_AUTO_CREATE_EXACTLY_ONCE =
            flag(
                    "scan.auto-create.exactly-once-delivery.enabled",
                    "Whether acks of new subscriptions are confirmed.");

    public static final ConfigOption<Map<String, String>> SCAN_AUTO_CREATE_LABELS =
            map("scan.auto-create.labels", "Labels of new subscriptions.");

    // Writing.

    public static final ConfigOption<String> SINK_CREATE_DISPOSITION =
            text(
                    "sink.create-disposition",
                    "What happens when a topic is missing: create-if-needed or create-never.");

    public static final ConfigOption<Duration> SINK_AUTO_CREATE_MESSAGE_RETENTION =
            duration("sink.auto-create.message-retention", "How long new topics keep messages.");

    public static final ConfigOption<String> SINK_AUTO_CREATE_KMS_KEY_NAME =
            text("sink.auto-create.kms-key-name", "The key that encrypts new topics.");

    public static final ConfigOption<List<String>> SINK_AUTO_CREATE_ALLOWED_REGIONS =
            texts(
                    "sink.auto-create.storage-policy.allowed-regions",
                    "Where messages of new topics may be stored.");

    public static final ConfigOption<Boolean> SINK_AUTO_CREATE_ENFORCE_IN_TRANSIT =
            flag(
                    "sink.auto-create.storage-policy.enforce-in-transit",
                    "Whether messages must not even pass through other regions.");

    public static final ConfigOption<Map<String, String>> SINK_AUTO_CREATE_LABELS =
            map("sink.auto-create.labels", "Labels of new topics.");

    public static final ConfigOption<Integer> SINK_BATCHING_ELEMENT_COUNT_THRESHOLD =
            number("sink.batching.element-count-threshold", "Messages in one request.");

    public static final ConfigOption<MemorySize> SINK_BATCHING_REQUEST_BYTE_THRESHOLD =
            size("sink.batching.request-byte-threshold", "Encoded bytes in one request.");

    public static final ConfigOption<Duration> SINK_BATCHING_DELAY_THRESHOLD =
            duration(
                    "sink.batching.delay-threshold",
                    "How long a message waits for others to share its request.");

    public static final ConfigOption<Duration> SINK_RETRY_INITIAL_DELAY =
            duration("sink.retry.initial-delay", "The pause before the first retry.");

    public static final ConfigOption<Double> SINK_RETRY_DELAY_MULTIPLIER =
            ConfigOptions.key("sink.retry.delay-multiplier")
                    .doubleType()
                    .noDefaultValue()
                    .withDescription("By what the pause grows.");

    public static final ConfigOption<Duration> SINK_RETRY_MAX_DELAY =
            duration("sink.retry.max-delay", "The longest pause.");

    public static final ConfigOption<Duration> SINK_RETRY_TOTAL_TIMEOUT =
            duration("sink.retry.total-timeout", "How long a request is tried.");

    public static final ConfigOption<Duration> SINK_RETRY_REQUEST_TIMEOUT =
            duration("sink.retry.request-timeout", "What one attempt may take.");

    public static final ConfigOption<Duration> SINK_RECOVERY_INITIAL_BACKOFF =
            duration(
                    "sink.recovery.initial-backoff",
                    "The pause before a topic that was created is tried again.");

    public static final ConfigOption<Duration> SINK_RECOVERY_MAX_BACKOFF =
            duration("sink.recovery.max-backoff", "The longest pause of that kind.");

    public static final ConfigOption<Integer> SINK_RECOVERY_MAX_ATTEMPTS =
            number("sink.recovery.max-attempts", "Attempts to create a topic and to reach it.");

    public static final ConfigOption<Boolean> SINK_MESSAGE_ORDERING =
            flag("sink.message-ordering.enabled", "Whether messages may have an ordering key.");

    public static final ConfigOption<Long> SINK_MAX_IN_FLIGHT_MESSAGES =
            whole("sink.in-flight.max-messages", "Accepted and not confirmed, per writer.");

    public static final ConfigOption<MemorySize> SINK_MAX_IN_FLIGHT_BYTES =
            size("sink.in-flight.max-bytes", "The same in bytes.");

    public static final ConfigOption<Integer> SINK_MAX_ACTIVE_PUBLISHERS =
            number("sink.max-active-publishers", "Topics that a writer keeps state for.");

    public static final ConfigOption<Duration> SINK_PUBLISHER_IDLE_TIMEOUT =
            duration(
                    "sink.publisher-idle-timeout",
                    "When the state of a topic that is not written to is released.");

    public static final ConfigOption<Integer> SINK_MAX_CONSECUTIVE_REJECTIONS =
            number("sink.max-consecutive-rejections", "Failed messages in a row.");

    public static final ConfigOption<Duration> SINK_PUBLISH_PROGRESS_TIMEOUT =
            duration(
                    "sink.publish-progress-timeout",
                    "How long nothing may be confirmed while messages are in flight.");

    public static final ConfigOption<String> SINK_FAILURE_POLICY =
            text(
                    "sink.failure-policy",
                    "What becomes of a message that fails: fail, drop or dead-letter.");

    public static final ConfigOption<String> SINK_DEAD_LETTER_TOPIC =
            text("sink.dead-letter.topic", "Id or path of the topic for messages that fail.");

    public static final ConfigOption<String> SINK_COMPRESSION =
            text("sink.compression", "Whether requests are compressed: none or gzip.");

    public static final ConfigOption<MemorySize> SINK_COMPRESSION_THRESHOLD =
            size("sink.compression-threshold", "Smaller requests are not compressed.");

    public static final ConfigOption<String> SINK_TIMESTAMP_ATTRIBUTE =
            text("sink.timestamp-attribute", "The attribute to write the event time to.");

    public static final ConfigOption<Duration> SINK_SHUTDOWN_TIMEOUT =
            duration("sink.shutdown-timeout", "What closing a writer may take.");

    public static final ConfigOption<Boolean> SINK_METRICS_PER_DESTINATION =
            flag("sink.metrics.per-destination", "Whether to count for each topic too.");

    private PubSubConnectorOptions() {}

    private static ConfigOption<String> text(String key, String description) {
        return ConfigOptions.key(key).stringType().noDefaultValue().withDescription(description);
    }

    private static ConfigOption<List<String>> texts(String key, String description) {
        return ConfigOptions.key(key)
                .stringType()
                .asList()
                .noDefaultValue()
                .withDescription(description);
    }

    private static ConfigOption<Map<String, String>> map(String key, String description) {
        return ConfigOptions.key(key).mapType().noDefaultValue().withDescription(description);
    }

    private static ConfigOption<Boolean> flag(String key, String description) {
        return ConfigOptions.key(key).booleanType().noDefaultValue().withDescription(description);
    }

    private static ConfigOption<Integer> number(String key, String description) {
        return ConfigOptions.key(key).intType().noDefaultValue().withDescription(description);
    }

    private static ConfigOption<Long> whole(String key, String description) {
        return ConfigOptions.key(key).longType().noDefaultValue().withDescription(description);
    }

    private static ConfigOption<Duration> duration(String key, String description) {
        return ConfigOptions.key(key).durationType().noDefaultValue().withDescription(description);
    }

    private static ConfigOption<MemorySize> size(String key, String description) {
        return ConfigOptions.key(key).memoryType().noDefaultValue().withDescription(description);
    }
}

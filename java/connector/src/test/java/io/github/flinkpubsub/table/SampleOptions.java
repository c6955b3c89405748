package io.github.flinkpubsub.table;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** For each option a value that is legal and not what happens without it. */
final class SampleOptions {

    private static final Map<String, String> SAMPLES = new LinkedHashMap<>();

    static {
        SAMPLES.put("project", "p");
        SAMPLES.put("format", "json");
        SAMPLES.put("subscription", "sub");
        SAMPLES.put("topic", "top");
        SAMPLES.put("endpoint", "localhost:443");
        SAMPLES.put("emulator-endpoint", "localhost:8085");
        SAMPLES.put("service-account-key-file", "/keys/key.json");
        SAMPLES.put("quota-project", "billing");
        SAMPLES.put("ca-certificate-file", "/keys/ca.pem");
        SAMPLES.put("scan.startup.mode", "earliest-retained");
        SAMPLES.put("scan.startup.timestamp-millis", "1700000000000");
        SAMPLES.put("scan.startup.snapshot", "projects/p/snapshots/x");
        SAMPLES.put("scan.bounded.mode", "idle");
        SAMPLES.put("scan.bounded.timestamp-millis", "1700000000000");
        SAMPLES.put("scan.bounded.idle-timeout", "7 s");
        SAMPLES.put("scan.ordering-mode", "per-key");
        SAMPLES.put("scan.deserialization-failure-policy", "drop");
        SAMPLES.put("scan.timestamp-attribute", "ts");
        SAMPLES.put("scan.message-rate-limit", "7");
        SAMPLES.put("scan.flow-control.max-outstanding-element-count", "7");
        SAMPLES.put("scan.flow-control.max-outstanding-request-bytes", "7 kb");
        SAMPLES.put("scan.max-buffered-bytes", "7168");
        SAMPLES.put("scan.parallel-pull-count", "7");
        SAMPLES.put("scan.ack.max-extension-period", "7 min");
        SAMPLES.put("scan.ack.min-duration-per-extension", "17 s");
        SAMPLES.put("scan.ack.max-duration-per-extension", "70 s");
        SAMPLES.put("scan.ack.await-confirmation", "true");
        SAMPLES.put("scan.max-records-per-fetch", "7");
        SAMPLES.put("scan.first-checkpoint-timeout", "7 s");
        SAMPLES.put("scan.shutdown-timeout", "7 s");
        SAMPLES.put("scan.parallelism", "7");
        SAMPLES.put("scan.auto-create.topics", "sub:top");
        SAMPLES.put("scan.auto-create.ack-deadline", "70 s");
        SAMPLES.put("scan.auto-create.message-ordering.enabled", "true");
        SAMPLES.put("scan.auto-create.message-retention", "7 h");
        SAMPLES.put("scan.auto-create.retain-acked-messages", "true");
        SAMPLES.put("scan.auto-create.expiration-ttl", "7 d");
        SAMPLES.put("scan.auto-create.never-expire", "true");
        SAMPLES.put("scan.auto-create.dead-letter.topic", "letters");
        SAMPLES.put("scan.auto-create.dead-letter.max-delivery-attempts", "7");
        SAMPLES.put("scan.auto-create.filter", "attributes:x");
        SAMPLES.put("scan.auto-create.exactly-once-delivery.enabled", "true");
        SAMPLES.put("scan.auto-create.labels", "team:seven");
        SAMPLES.put("sink.create-disposition", "create-never");
        SAMPLES.put("sink.auto-create.message-retention", "7 h");
        SAMPLES.put(
                "sink.auto-create.kms-key-name", "projects/p/locations/l/keyRings/r/cryptoKeys/k");
        SAMPLES.put("sink.auto-create.storage-policy.allowed-regions", "us-east1;us-west1");
        SAMPLES.put("sink.auto-create.storage-policy.enforce-in-transit", "true");
        SAMPLES.put("sink.auto-create.labels", "team:seven");
        SAMPLES.put("sink.batching.element-count-threshold", "7");
        SAMPLES.put("sink.batching.request-byte-threshold", "7 kb");
        SAMPLES.put("sink.batching.delay-threshold", "7 s");
        SAMPLES.put("sink.retry.initial-delay", "7 ms");
        SAMPLES.put("sink.retry.delay-multiplier", "1.7");
        SAMPLES.put("sink.retry.max-delay", "7 s");
        SAMPLES.put("sink.retry.total-timeout", "7 s");
        SAMPLES.put("sink.retry.request-timeout", "7 s");
        SAMPLES.put("sink.recovery.initial-backoff", "7 ms");
        SAMPLES.put("sink.recovery.max-backoff", "7 s");
        SAMPLES.put("sink.recovery.max-attempts", "7");
        SAMPLES.put("sink.message-ordering.enabled", "true");
        SAMPLES.put("sink.in-flight.max-messages", "7");
        SAMPLES.put("sink.in-flight.max-bytes", "7 kb");
        SAMPLES.put("sink.max-active-publishers", "7");
        SAMPLES.put("sink.publisher-idle-timeout", "7 s");
        SAMPLES.put("sink.max-consecutive-rejections", "7");
        SAMPLES.put("sink.publish-progress-timeout", "7 s");
        SAMPLES.put("sink.failure-policy", "dead-letter");
        SAMPLES.put("sink.dead-letter.topic", "letters");
        SAMPLES.put("sink.compression", "gzip");
        SAMPLES.put("sink.compression-threshold", "7 kb");
        SAMPLES.put("sink.timestamp-attribute", "ts");
        SAMPLES.put("sink.shutdown-timeout", "7 s");
        SAMPLES.put("sink.metrics.per-destination", "true");
        SAMPLES.put("sink.parallelism", "7");
    }

    private SampleOptions() {}

    /** The sample for a key. */
    static String of(String key) {
        return SAMPLES.get(key);
    }

    /** All keys. */
    static List<String> keys() {
        return new ArrayList<>(SAMPLES.keySet());
    }

    /** What is set beside an option, so that it has a meaning. */
    static Map<String, String> with(String key) {
        Map<String, String> options = new LinkedHashMap<>();
        for (String required : List.of("project", "format", "subscription", "topic")) {
            options.put(required, SAMPLES.get(required));
        }
        if (key.startsWith("scan.auto-create.")) {
            options.put("scan.auto-create.topics", "sub:top");
        }
        if (key.startsWith("scan.auto-create.dead-letter.")) {
            options.put("scan.auto-create.dead-letter.topic", "letters");
            options.put("scan.auto-create.dead-letter.max-delivery-attempts", "7");
        }
        switch (key) {
            case "scan.startup.timestamp-millis":
                options.put("scan.startup.mode", "timestamp");
                break;
            case "scan.startup.snapshot":
                options.put("scan.startup.mode", "snapshot");
                break;
            case "scan.bounded.timestamp-millis":
                options.put("scan.bounded.mode", "timestamp");
                break;
            case "scan.bounded.mode":
            case "scan.bounded.idle-timeout":
                options.put("scan.bounded.mode", "idle");
                options.put("scan.bounded.idle-timeout", "7 s");
                break;
            case "sink.auto-create.storage-policy.enforce-in-transit":
                options.put("sink.auto-create.storage-policy.allowed-regions", "us-east1");
                break;
            case "sink.failure-policy":
            case "sink.dead-letter.topic":
                options.put("sink.failure-policy", "dead-letter");
                options.put("sink.dead-letter.topic", "letters");
                break;
            case "sink.compression-threshold":
                options.put("sink.compression", "gzip");
                break;
            default:
                break;
        }
        options.put(key, SAMPLES.get(key));
        return options;
    }
}

package io.github.flinkpubsub.table;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.flinkpubsub.ReferencePage;
import io.github.flinkpubsub.sink.PubSubPublisherOptions;
import io.github.flinkpubsub.sink.PubSubSink;
import io.github.flinkpubsub.sink.PubSubSinkBuilder;
import io.github.flinkpubsub.sink.TopicCreateOptions;
import io.github.flinkpubsub.source.PubSubSource;
import io.github.flinkpubsub.source.PubSubSourceBuilder;
import io.github.flinkpubsub.source.PubSubSubscriberOptions;
import io.github.flinkpubsub.source.SubscriptionCreateOptions;

import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.factories.FactoryUtil;
import org.junit.jupiter.api.Test;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** Holds the options of a table, the builders' setters and the page about SQL to each other. */
class OptionsTest {

    private static Set<String> keys(Iterable<ConfigOption<?>> options) {
        Set<String> keys = new TreeSet<>();
        options.forEach(option -> keys.add(option.key()));
        return keys;
    }

    private static Set<String> allKeys() {
        PubSubTableFactory factory = new PubSubTableFactory();
        Set<String> keys = keys(factory.requiredOptions());
        keys.addAll(keys(factory.optionalOptions()));
        return keys;
    }

    private static Set<String> and(Map<String, String> setters, String... others) {
        Set<String> all = new TreeSet<>(setters.values());
        all.addAll(Arrays.asList(others));
        return all;
    }

    @Test
    void everyConstantIsAnOptionAndNoOtherIs() throws Exception {
        List<ConfigOption<?>> constants = new ArrayList<>();
        for (Field field : PubSubConnectorOptions.class.getFields()) {
            if (Modifier.isStatic(field.getModifiers())) {
                constants.add((ConfigOption<?>) field.get(null));
            }
        }
        Set<String> expected = keys(constants);
        assertThat(expected).hasSameSizeAs(constants);
        expected.add(FactoryUtil.FORMAT.key());
        expected.add(FactoryUtil.SOURCE_PARALLELISM.key());
        expected.add(FactoryUtil.SINK_PARALLELISM.key());
        assertThat(allKeys()).isEqualTo(expected);
        assertThat(new TreeSet<>(SampleOptions.keys())).isEqualTo(expected);
    }

    @Test
    void absentMeansTheBuildersDefault() {
        for (ConfigOption<?> option : new PubSubTableFactory().optionalOptions()) {
            assertThat(option.hasDefaultValue()).as(option.key()).isFalse();
        }
    }

    /** Beside the setters that are named here, which belong to no single option. */
    @Test
    void everySetterHasAnOption() {
        assertThat(
                        and(
                                ScanSettings.SOURCE.setters(),
                                "subscription", // subscription, scan.auto-create.*
                                "subscriptions", // subscription
                                "deserializer", // format
                                "startPosition", // scan.startup.*
                                "accessTokenProvider", // an object, not in SQL
                                "fromTopic", // a subscription of the job's own, not in SQL
                                "subscriberOptions"))
                .isEqualTo(ReferencePage.setters(PubSubSourceBuilder.class));
        assertThat(and(ScanSettings.SUBSCRIBER.setters()))
                .isEqualTo(ReferencePage.setters(PubSubSubscriberOptions.Builder.class));
        assertThat(
                        and(
                                ScanSettings.AUTO_CREATE.setters(),
                                "topic", // scan.auto-create.topics
                                "deadLetterPolicy", // scan.auto-create.dead-letter.*
                                "label")) // scan.auto-create.labels
                .isEqualTo(ReferencePage.setters(SubscriptionCreateOptions.Builder.class));
        assertThat(
                        and(
                                SinkSettings.SINK.setters(),
                                "topic", // topic
                                "destinationResolver", // a column METADATA FROM 'topic'
                                "serializer", // format, sink.timestamp-attribute
                                "topicCreateOptions", // sink.auto-create.*
                                "failedMessageHandler", // sink.failure-policy
                                "accessTokenProvider", // an object, not in SQL
                                "publisherOptions"))
                .isEqualTo(ReferencePage.setters(PubSubSinkBuilder.class));
        assertThat(and(SinkSettings.PUBLISHER.setters(), "compression"))
                .isEqualTo(ReferencePage.setters(PubSubPublisherOptions.Builder.class));
        assertThat(and(SinkSettings.AUTO_CREATE.setters(), "label"))
                .isEqualTo(ReferencePage.setters(TopicCreateOptions.Builder.class));
    }

    @Test
    void everyOptionReachesItsSetter() throws Exception {
        reaches(ScanSettings.SOURCE, PubSubSource::<org.apache.flink.table.data.RowData>builder);
        reaches(ScanSettings.SUBSCRIBER, PubSubSubscriberOptions::builder);
        reaches(ScanSettings.AUTO_CREATE, SubscriptionCreateOptions::builder);
        reaches(SinkSettings.SINK, PubSubSink::<org.apache.flink.table.data.RowData>builder);
        reaches(SinkSettings.PUBLISHER, PubSubPublisherOptions::builder);
        reaches(SinkSettings.AUTO_CREATE, TopicCreateOptions::builder);
    }

    /** An option changes its own field of the builder, and no other. */
    private static <B> void reaches(Settings<B> settings, Supplier<B> builders) throws Exception {
        for (Map.Entry<String, String> setter : settings.setters().entrySet()) {
            B builder = builders.get();
            Map<String, String> before = fields(builder);
            Configuration options =
                    Configuration.fromMap(
                            Map.of(setter.getKey(), SampleOptions.of(setter.getKey())));
            settings.apply(options, builder);
            Map<String, String> after = fields(builder);
            after.entrySet().removeAll(before.entrySet());
            assertThat(after.keySet()).as(setter.toString()).containsExactly(field(setter));
        }
    }

    private static String field(Map.Entry<String, String> setter) {
        switch (setter.getValue()) {
            case "deserializationFailurePolicy":
                return "failurePolicy";
            case "stopAt":
            case "stopWhenIdle":
                return "stopCondition";
            case "enableExactlyOnceDelivery":
                return "exactlyOnceDelivery";
            case "endpoint":
            case "emulatorEndpoint":
            case "serviceAccountKeyFile":
            case "quotaProject":
            case "caCertificateFile":
                return "connection." + setter.getValue();
            case "enableMessageOrdering":
                return setter.getKey().startsWith("scan.")
                        ? "messageOrdering"
                        : "enableMessageOrdering";
            default:
                return setter.getValue();
        }
    }

    private static Map<String, String> fields(Object object) throws Exception {
        Map<String, String> fields = new LinkedHashMap<>();
        for (Field field : object.getClass().getDeclaredFields()) {
            if (Modifier.isStatic(field.getModifiers())) {
                continue;
            }
            field.setAccessible(true);
            Object value = field.get(object);
            if (field.getName().equals("connection")) {
                fields(value).forEach((name, text) -> fields.put("connection." + name, text));
            } else {
                fields.put(field.getName(), String.valueOf(value));
            }
        }
        return fields;
    }

    @Test
    void valuesArriveAsTheyWereTyped() {
        Map<String, String> options = new LinkedHashMap<>();
        for (String key : SampleOptions.keys()) {
            options.put(key, SampleOptions.of(key));
        }
        Configuration configuration = Configuration.fromMap(options);
        PubSubSubscriberOptions.Builder subscriber = PubSubSubscriberOptions.builder();
        ScanSettings.SUBSCRIBER.apply(configuration, subscriber);
        PubSubSubscriberOptions reading = subscriber.build();
        assertThat(reading.maxOutstandingMessages()).isEqualTo(7);
        assertThat(reading.maxOutstandingBytes()).isEqualTo(7 * 1024);
        assertThat(reading.maxBufferedBytes()).isEqualTo(7168);
        assertThat(reading.maxAckExtensionPeriod()).isEqualTo(Duration.ofMinutes(7));
        assertThat(reading.minDurationPerAckExtension()).isEqualTo(Duration.ofSeconds(17));
        assertThat(reading.awaitAckConfirmation()).isTrue();
        PubSubPublisherOptions.Builder publisher = PubSubPublisherOptions.builder();
        SinkSettings.PUBLISHER.apply(configuration, publisher);
        PubSubPublisherOptions writing = publisher.build();
        assertThat(writing.batchRequestByteThreshold()).isEqualTo(7 * 1024);
        assertThat(writing.batchDelayThreshold()).isEqualTo(Duration.ofSeconds(7));
        assertThat(writing.enableMessageOrdering()).isTrue();
        assertThat(writing.maxInFlightBytes()).isEqualTo(7 * 1024);
        assertThat(writing.shutdownTimeout()).isEqualTo(Duration.ofSeconds(7));
        SubscriptionCreateOptions.Builder created =
                SubscriptionCreateOptions.builder()
                        .topic(io.github.flinkpubsub.TopicDestination.of("p", "top"));
        Configuration creation = new Configuration(configuration);
        creation.removeConfig(PubSubConnectorOptions.SCAN_AUTO_CREATE_NEVER_EXPIRE);
        ScanSettings.AUTO_CREATE.apply(creation, created);
        assertThat(created.build().toString())
                .contains("ack-deadline-seconds=70")
                .contains("filter=attributes:x")
                .contains("label.team=seven");
    }

    private static String scan(String... options) {
        return ScanSettings.of(configuration(options)).summary();
    }

    private static String sink(String... options) {
        return SinkSettings.of(configuration(options), Set.of()).summary();
    }

    private static Configuration configuration(String... options) {
        Map<String, String> all = new LinkedHashMap<>(SampleOptions.with("project"));
        for (int i = 0; i < options.length; i += 2) {
            all.put(options[i], options[i + 1]);
        }
        return Configuration.fromMap(all);
    }

    @Test
    void theSummaryTellsWhatTheOptionsMean() {
        assertThat(scan())
                .isEqualTo(
                        "subscriptions=[projects/p/subscriptions/sub],"
                                + " startup=continue-from-subscription");
        assertThat(scan("subscription", "aaa ; projects/q/subscriptions/bbb"))
                .startsWith(
                        "subscriptions=[projects/p/subscriptions/aaa,"
                                + " projects/q/subscriptions/bbb]");
        assertThat(scan("scan.startup.mode", "EARLIEST_RETAINED"))
                .contains("startup=earliest-retained");
        assertThat(scan("scan.startup.mode", "latest")).contains("startup=latest");
        assertThat(
                        scan(
                                "scan.startup.mode",
                                "timestamp",
                                "scan.startup.timestamp-millis",
                                "1234567890123"))
                .contains("startup=timestamp 2009-02-13T23:31:30.123Z");
        assertThat(scan("scan.startup.mode", "snapshot", "scan.startup.snapshot", "x"))
                .contains("startup=snapshot x");
        assertThat(scan("scan.ordering-mode", "per-key")).contains("ordering=per-key");
        assertThat(
                        scan(
                                "scan.bounded.mode",
                                "timestamp",
                                "scan.bounded.timestamp-millis",
                                "1234567890123"))
                .contains("bounded=at 2009-02-13T23:31:30.123Z");
        assertThat(scan("scan.bounded.mode", "idle", "scan.bounded.idle-timeout", "7 s"))
                .contains("bounded=when idle for PT7S");
        assertThat(sink()).isEqualTo("topic=projects/p/topics/top, missing topics=created");
        assertThat(
                        sink(
                                "sink.create-disposition",
                                "create-never",
                                "sink.message-ordering.enabled",
                                "true",
                                "sink.failure-policy",
                                "drop"))
                .isEqualTo(
                        "topic=projects/p/topics/top, missing topics=create-never,"
                                + " ordering=per-key, failures=drop");
    }

    @Test
    void thePageHasEveryOptionWithItsSetterAndDefault() throws Exception {
        ReferencePage page = ReferencePage.read("sql.md");
        TreeMap<String, String> described = page.table("Options");
        assertThat(described.keySet()).isEqualTo(allKeys());
        defaults(ScanSettings.SUBSCRIBER, PubSubSubscriberOptions.defaults(), described);
        defaults(SinkSettings.PUBLISHER, PubSubPublisherOptions.defaults(), described);
        TreeMap<String, String[]> rows = page.rows("Options");
        for (Settings<?> settings :
                List.of(
                        ScanSettings.SOURCE,
                        ScanSettings.SUBSCRIBER,
                        ScanSettings.AUTO_CREATE,
                        SinkSettings.SINK,
                        SinkSettings.PUBLISHER,
                        SinkSettings.AUTO_CREATE)) {
            settings.setters()
                    .forEach(
                            (key, setter) ->
                                    assertThat(rows.get(key)[3].trim())
                                            .as(key)
                                            .isEqualTo("`" + setter + "`"));
        }
    }

    /** The page's default, written as an option's value, is the one of the builder. */
    private static <B> void defaults(
            Settings<B> settings, Object defaults, Map<String, String> described) throws Exception {
        for (Map.Entry<String, String> setter : settings.setters().entrySet()) {
            Object value = defaults.getClass().getMethod(setter.getValue()).invoke(defaults);
            String text = described.get(setter.getKey());
            String shown =
                    settings.options().stream()
                            .filter(option -> option.key().equals(setter.getKey()))
                            .map(option -> parsed(option, text))
                            .collect(Collectors.joining());
            assertThat(shown)
                    .as(setter.getKey())
                    .isEqualTo(value == null ? "adaptive" : value.toString());
        }
    }

    private static String parsed(ConfigOption<?> option, String text) {
        if (text.equals("adaptive")) {
            return text;
        }
        Object value = Configuration.fromMap(Map.of(option.key(), text)).get(option);
        return value instanceof org.apache.flink.configuration.MemorySize
                ? Long.toString(((org.apache.flink.configuration.MemorySize) value).getBytes())
                : String.valueOf(value);
    }

    @Test
    void thePageHasEveryMetadataColumn() throws Exception {
        ReferencePage page = ReferencePage.read("sql.md");
        TreeMap<String, String> described = page.table("Metadata columns");
        Set<String> expected = new TreeSet<>();
        for (ReadableMetadata readable : ReadableMetadata.values()) {
            expected.add(readable.key);
        }
        for (WritableMetadata writable : WritableMetadata.values()) {
            expected.add(writable.key);
        }
        assertThat(described.keySet()).isEqualTo(expected);
    }
}

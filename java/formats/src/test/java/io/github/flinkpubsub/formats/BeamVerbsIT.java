package io.github.flinkpubsub.formats;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.pubsub.v1.PubsubMessage;
import com.google.type.Money;

import io.github.flinkpubsub.Deduplication;
import io.github.flinkpubsub.PubSubDeserializationSchema;
import io.github.flinkpubsub.PubSubRecord;
import io.github.flinkpubsub.PubSubRecord.Part;
import io.github.flinkpubsub.PubSubSerializationSchema;
import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.sink.DestinationResolver;
import io.github.flinkpubsub.sink.FailedMessageHandler;
import io.github.flinkpubsub.sink.PubSubPublisherOptions;
import io.github.flinkpubsub.sink.PubSubSink;
import io.github.flinkpubsub.sink.PubSubSinkBuilder;
import io.github.flinkpubsub.source.DeserializationFailurePolicy;
import io.github.flinkpubsub.source.PubSubSource;
import io.github.flinkpubsub.source.PubSubSourceBuilder;
import io.github.flinkpubsub.testing.PubSubEmulator;

import org.apache.avro.Schema;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.generic.GenericRecordBuilder;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.formats.avro.AvroSerializationSchema;
import org.apache.flink.formats.avro.typeutils.AvroTypeInfo;
import org.apache.flink.formats.avro.typeutils.GenericRecordAvroTypeInfo;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.util.CloseableIterator;
import org.apache.flink.util.Collector;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * Every line of the page about Beam's verbs, executed. {@link MigrationPageTest} holds the page to
 * this class.
 */
@Tag("integration")
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class BeamVerbsIT {

    private static final Money MONEY =
            Money.newBuilder().setCurrencyCode("CHF").setUnits(5).build();
    private static final Schema schema = Purchase.SCHEMA$;
    private static final Descriptor descriptor = Money.getDescriptor();
    private static final FileDescriptor file = Money.getDescriptor().getFile();
    private static final WatermarkStrategy<Tuple2<String, String>> watermarks =
            WatermarkStrategy.noWatermarks();

    private PubSubEmulator server;
    private StreamExecutionEnvironment env;
    private final List<DataStream<String>> streams = new ArrayList<>();
    private int topics;

    @BeforeEach
    void startServer() throws Exception {
        server = PubSubEmulator.start();
        Configuration configuration = new Configuration();
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "none");
        env = StreamExecutionEnvironment.createLocalEnvironment(1, configuration);
        env.enableCheckpointing(200);
    }

    @AfterEach
    void stopServer() {
        server.close();
    }

    /** A topic with a subscription, whose id is the topic's with -sub. */
    private String newTopic() {
        String topic = "projects/p/topics/topic-" + topics++;
        server.createTopic(topic);
        server.createSubscription(subscriptionOf(topic), topic);
        return topic;
    }

    private static String subscriptionOf(String topic) {
        return topic.replace("topics", "subscriptions") + "-sub";
    }

    private <T> PubSubSourceBuilder<T> newSource() {
        return PubSubSource.<T>builder().emulatorEndpoint(server.endpoint());
    }

    private <T> PubSubSinkBuilder<T> newSink() {
        return PubSubSink.<T>builder().emulatorEndpoint(server.endpoint());
    }

    /** Adds to the job what a schema makes of a message, as text. */
    private <T> void read(
            String name, PubSubDeserializationSchema<T> schema, byte[] payload, String orderingKey)
            throws Exception {
        String topic = newTopic();
        server.publish(
                topic,
                List.of(
                        PubsubMessage.newBuilder()
                                .setData(ByteString.copyFrom(payload))
                                .putAttributes("buyer", "Maria")
                                .setOrderingKey(orderingKey)
                                .build()));
        PubSubSource<T> source =
                this.<T>newSource()
                        .subscription(SubscriptionDestination.parse(subscriptionOf(topic)))
                        .deserializer(schema)
                        .build();
        streams.add(
                env.fromSource(source, WatermarkStrategy.noWatermarks(), name)
                        .map(record -> name + ": " + show(record))
                        .returns(Types.STRING));
    }

    private static String show(Object record) {
        if (!(record instanceof PubSubRecord)) {
            return record.toString().replace("\n", " ").trim();
        }
        PubSubRecord message = (PubSubRecord) record;
        return message.text()
                + " "
                + message.attributes()
                + (message.messageId() == null ? "" : " id")
                + (message.orderingKey() == null ? "" : " " + message.orderingKey());
    }

    private static byte[] avro(Purchase purchase) {
        return AvroSerializationSchema.forSpecific(Purchase.class).serialize(purchase);
    }

    /** Runs the job until it has made so many records. */
    private List<String> run(int count) throws Exception {
        DataStream<String> all = streams.get(0);
        for (DataStream<String> more : streams.subList(1, streams.size())) {
            all = all.union(more);
        }
        List<String> records = new ArrayList<>();
        try (CloseableIterator<String> results = all.executeAndCollect()) {
            while (records.size() < count) {
                records.add(results.next());
            }
        }
        return records;
    }

    @Test
    void readingMessages() throws Exception {
        byte[] text = "text".getBytes("UTF-8");
        read("a", PubSubDeserializationSchema.recordsWith(), text, "k");
        read("b", PubSubDeserializationSchema.recordsWith(Part.MESSAGE_ID), text, "k");
        read("c", PubSubDeserializationSchema.recordsWith(Part.ATTRIBUTES), text, "k");
        read(
                "d",
                PubSubDeserializationSchema.recordsWith(Part.ATTRIBUTES, Part.MESSAGE_ID),
                text,
                "k");
        read("e", PubSubDeserializationSchema.records(), text, "k");
        read("f", PubSubDeserializationSchema.strings(), text, "k");
        read(
                "g",
                PubSubDeserializationSchema.parsing(Types.INT, message -> message.payloadSize()),
                text,
                "k");
        read(
                "h",
                PubSubDeserializationSchema.parsing(
                        Types.STRING, message -> message.attribute("buyer")),
                text,
                "k");
        assertThat(run(8))
                .containsExactlyInAnyOrder(
                        "a: text {}",
                        "b: text {} id",
                        "c: text {buyer=Maria}",
                        "d: text {buyer=Maria} id",
                        "e: text {buyer=Maria} id k",
                        "f: text",
                        "g: 4",
                        "h: Maria");
    }

    @Test
    void readingProtobufAndAvro() throws Exception {
        byte[] money = MONEY.toByteArray();
        byte[] purchase = avro(new Purchase("Juan", 3));
        // Avro's form of {"page": "/", "seconds": 7}.
        byte[] visit = {2, '/', 14};
        read("a", ProtobufSchemas.reading(Money.class), money, "");
        read("b", ProtobufSchemas.reading(descriptor), money, "");
        read("c", ProtobufSchemas.reading(file.findMessageTypeByName("Money")), money, "");
        read("d", ProtobufSchemas.readingRows(Money.class), money, "");
        read("e", AvroSchemas.readingSpecific(Purchase.class), purchase, "");
        read("f", AvroSchemas.readingReflect(Visit.class), visit, "");
        read("g", AvroSchemas.readingGeneric(schema), purchase, "");
        read("h", AvroSchemas.readingRows(Purchase.class), purchase, "");
        assertThat(run(8))
                .containsExactlyInAnyOrder(
                        "a: " + show(MONEY),
                        "b: " + show(MONEY),
                        "c: " + show(MONEY),
                        "d: +I[CHF, 5, 0]",
                        "e: {\"buyer\": \"Juan\", \"amount\": 3}",
                        "f: / 7",
                        "g: {\"buyer\": \"Juan\", \"amount\": 3}",
                        "h: +I[Juan, 3]");
    }

    @Test
    void fromASubscriptionWithTimestampsAndWithoutWhatCannotBeRead() throws Exception {
        String topic = newTopic();
        String path = subscriptionOf(topic);
        String hostAndPort = server.endpoint();
        PubSubSourceBuilder<String> source = PubSubSource.builder();
        source.emulatorEndpoint(hostAndPort);
        source.subscription(SubscriptionDestination.parse(path));
        source.timestampAttribute("timestamp");
        source.deserializationFailurePolicy(DeserializationFailurePolicy.DROP);
        source.deserializer(PubSubDeserializationSchema.strings());
        source.build().validate();
        server.publish(
                topic,
                List.of(
                        message("no timestamp"),
                        message("a").toBuilder()
                                .putAttributes("timestamp", "1610000000000")
                                .build(),
                        message("b").toBuilder()
                                .putAttributes("timestamp", "2021-01-07T06:13:20Z")
                                .build()));
        streams.add(
                env.fromSource(source.build(), WatermarkStrategy.noWatermarks(), "in")
                        .process(new WithTimestamp()));
        assertThat(run(2)).containsExactlyInAnyOrder("a@1610000000000", "b@1610000000000");
    }

    private static PubsubMessage message(String text) {
        return PubsubMessage.newBuilder().setData(ByteString.copyFromUtf8(text)).build();
    }

    private static final class WithTimestamp extends ProcessFunction<String, String> {

        private static final long serialVersionUID = 1L;

        @Override
        public void processElement(String text, Context context, Collector<String> out) {
            out.collect(text + "@" + context.timestamp());
        }
    }

    @Test
    void fromATopicWithoutDuplicates() throws Exception {
        String path = newTopic();
        PubSubSourceBuilder<Tuple2<String, String>> source = newSource();
        source.fromTopic(TopicDestination.parse(path));
        streams.add(
                Deduplication.byId(
                        env.fromSource(
                                source.deserializer(
                                                PubSubDeserializationSchema.strings()
                                                        .withIdAttribute("id"))
                                        .build(),
                                watermarks,
                                "in")));
        try (CloseableIterator<String> records = streams.get(0).executeAndCollect()) {
            long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
            while (server.control().calls().get("StreamingPull") == 0) {
                assertThat(System.nanoTime()).as("nobody reads").isLessThan(deadline);
                TimeUnit.MILLISECONDS.sleep(20);
            }
            for (String id : List.of("x", "x", "y", "x", "z")) {
                server.publish(
                        path, List.of(message(id).toBuilder().putAttributes("id", id).build()));
            }
            List<String> first = List.of(records.next(), records.next(), records.next());
            assertThat(first).containsExactlyInAnyOrder("x", "y", "z");
        }
    }

    /** What a job that writes these records with this schema has published, in order of payload. */
    @SafeVarargs
    @SuppressWarnings("varargs")
    private <T> List<PubsubMessage> written(
            PubSubSerializationSchema<T> schema, TypeInformation<T> type, T... records)
            throws Exception {
        String topic = newTopic();
        PubSubSinkBuilder<T> sink = newSink();
        sink.topic(TopicDestination.parse(topic)).serializer(schema);
        write(sink, type, records);
        return server.receive(subscriptionOf(topic), records.length, 30_000);
    }

    @SafeVarargs
    @SuppressWarnings("varargs")
    private <T> void write(PubSubSinkBuilder<T> sink, TypeInformation<T> type, T... records)
            throws Exception {
        env.fromData(Arrays.asList(records), type)
                .assignTimestampsAndWatermarks(
                        WatermarkStrategy.<T>noWatermarks()
                                .withTimestampAssigner((record, before) -> 1_610_000_000_000L))
                .sinkTo(sink.build());
        env.execute();
    }

    private static List<String> show(List<PubsubMessage> messages) {
        return messages.stream()
                .map(
                        message ->
                                message.getData().toStringUtf8()
                                        + new TreeMap<>(message.getAttributesMap()))
                .sorted()
                .collect(Collectors.toList());
    }

    @Test
    void writingMessagesAndTexts() throws Exception {
        assertThat(
                        show(
                                written(
                                        PubSubSerializationSchema.records(),
                                        TypeInformation.of(PubSubRecord.class),
                                        PubSubRecord.of("a").withAttribute("b", "1"))))
                .containsExactly("a{b=1}");
        assertThat(show(written(PubSubSerializationSchema.strings(), Types.STRING, "a", "b")))
                .containsExactly("a{}", "b{}");
        assertThat(
                        show(
                                written(
                                        PubSubSerializationSchema.strings()
                                                .withTimestampAttribute("timestamp"),
                                        Types.STRING,
                                        "a")))
                .containsExactly("a{timestamp=1610000000000}");
        assertThat(
                        show(
                                written(
                                        PubSubSerializationSchema.strings()
                                                .withIdAttribute("id", text -> "id-" + text),
                                        Types.STRING,
                                        "a")))
                .containsExactly("a{id=id-a}");
    }

    @Test
    void writingProtobufAndAvro() throws Exception {
        ProtobufTypeInfo<Money> type = ProtobufTypeInfo.forClass(Money.class);
        PubsubMessage message = written(ProtobufSchemas.<Money>writing(), type, MONEY).get(0);
        assertThat(Money.parseFrom(message.getData())).isEqualTo(MONEY);
        message =
                written(
                                ProtobufSchemas.<Money>writing()
                                        .withAttributes(
                                                money ->
                                                        Map.of(
                                                                "currency",
                                                                money.getCurrencyCode())),
                                type,
                                MONEY)
                        .get(0);
        assertThat(message.getAttributesMap()).isEqualTo(Map.of("currency", "CHF"));

        Purchase juans = new Purchase("Juan", 3);
        TypeInformation<Purchase> purchases = new AvroTypeInfo<>(Purchase.class);
        assertThat(
                        written(AvroSchemas.writingSpecific(Purchase.class), purchases, juans)
                                .get(0)
                                .getData()
                                .toByteArray())
                .isEqualTo(avro(juans));
        assertThat(
                        written(
                                        AvroSchemas.writingSpecific(Purchase.class)
                                                .withAttributes(
                                                        purchase ->
                                                                Map.of("buyer", purchase.buyer)),
                                        purchases,
                                        juans)
                                .get(0)
                                .getAttributesMap())
                .isEqualTo(Map.of("buyer", "Juan"));
        assertThat(
                        written(
                                        AvroSchemas.writingReflect(Visit.class),
                                        TypeInformation.of(Visit.class),
                                        new Visit("/", 7))
                                .get(0)
                                .getData()
                                .toByteArray())
                .isEqualTo(new byte[] {2, '/', 14});
        GenericRecord record =
                new GenericRecordBuilder(schema).set("buyer", "Juan").set("amount", 3L).build();
        assertThat(
                        written(
                                        AvroSchemas.writingGeneric(schema),
                                        new GenericRecordAvroTypeInfo(schema),
                                        record)
                                .get(0)
                                .getData()
                                .toByteArray())
                .isEqualTo(avro(juans));
    }

    @Test
    void toTopicsOfTheRecords() throws Exception {
        String topic = newTopic();
        PubSubSinkBuilder<PubSubRecord> sink = newSink();
        sink.serializer(PubSubSerializationSchema.records())
                .destinationResolver(DestinationResolver.ofRecord());
        write(
                sink,
                TypeInformation.of(PubSubRecord.class),
                PubSubRecord.of("a").withTopic(TopicDestination.parse(topic)));
        assertThat(show(server.receive(subscriptionOf(topic), 1, 30_000))).containsExactly("a{}");
    }

    @Test
    void toTopicsOfAFunctionInSmallBatchesAndWithDeadLetters() throws Exception {
        for (String country : List.of("CH", "FR")) {
            server.createTopic("projects/p/topics/country-" + country);
            server.createSubscription(
                    "projects/p/subscriptions/" + country + "-sub",
                    "projects/p/topics/country-" + country);
        }
        PubSubSinkBuilder<String> sink = newSink();
        sink.destinationResolver((text, context) -> TopicDestination.of("p", "country-" + text))
                .serializer(PubSubSerializationSchema.strings())
                .publisherOptions(
                        PubSubPublisherOptions.builder().batchElementCountThreshold(100).build());
        write(sink, Types.STRING, "CH", "FR");
        assertThat(show(server.receive("projects/p/subscriptions/CH-sub", 1, 30_000)))
                .containsExactly("CH{}");
        assertThat(show(server.receive("projects/p/subscriptions/FR-sub", 1, 30_000)))
                .containsExactly("FR{}");
    }

    @Test
    void toOneTopicInOrderAndWithDeadLetters() throws Exception {
        String path = newTopic();
        String letters = newTopic();
        TopicDestination deadLetters = TopicDestination.parse(letters);
        PubSubSinkBuilder<String> sink = newSink();
        sink.topic(TopicDestination.parse(path));
        // A message without anything in it is refused.
        sink.serializer(PubSubSerializationSchema.strings());
        sink.failedMessageHandler(FailedMessageHandler.sendToDeadLetterTopic(deadLetters));
        sink.publisherOptions(
                PubSubPublisherOptions.builder().batchRequestByteThreshold(1 << 20).build());
        sink.build().validate();
        write(sink, Types.STRING, "a", "");
        assertThat(show(server.receive(subscriptionOf(path), 1, 30_000))).containsExactly("a{}");
        assertThat(server.receive(subscriptionOf(letters), 1, 30_000).get(0).getAttributesMap())
                .containsEntry("pubsub-failed-destination", path);

        sink.serializer(PubSubSerializationSchema.strings().withOrderingKey(text -> "key"));
        sink.publisherOptions(PubSubPublisherOptions.builder().enableMessageOrdering(true).build());
        write(sink, Types.STRING, "b");
        assertThat(server.receive(subscriptionOf(path), 1, 30_000).get(0).getOrderingKey())
                .isEqualTo("key");
        sink.failedMessageHandler(
                FailedMessageHandler.sendToDeadLetterTopic(TopicDestination.of("p", "gone")));
        assertThatThrownBy(() -> sink.build().validate())
                .hasMessageContaining("projects/p/topics/gone does not exist");
    }
}

package io.github.flinkpubsub.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.google.protobuf.ByteString;
import com.google.protobuf.Timestamp;
import com.google.pubsub.v1.GetTopicRequest;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.SeekRequest;
import com.google.pubsub.v1.Topic;

import io.github.flinkpubsub.PubSubSerializationSchema;
import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.sink.CreateDisposition;
import io.github.flinkpubsub.sink.FailedMessageHandler;
import io.github.flinkpubsub.sink.PubSubPublisherOptions;
import io.github.flinkpubsub.sink.PubSubSink;
import io.github.flinkpubsub.sink.PubSubSinkBuilder;
import io.github.flinkpubsub.sink.TopicCreateOptions;
import io.github.flinkpubsub.source.DeserializationFailurePolicy;
import io.github.flinkpubsub.source.OrderingMode;
import io.github.flinkpubsub.source.PubSubSource;
import io.github.flinkpubsub.source.PubSubSourceBuilder;
import io.github.flinkpubsub.source.PubSubSubscriberOptions;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.ExceptionUtils;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Jobs on a MiniCluster against the embedded server. */
@Tag("integration")
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class JobIT extends JobTest {

    private static final String IN = "projects/p/topics/input";
    private static final String IN_SUB = "projects/p/subscriptions/input-sub";
    private static final String OUT = "projects/p/topics/output";
    private static final String OUT_SUB = "projects/p/subscriptions/output-sub";

    @BeforeEach
    void createTopics() {
        server.createTopic(IN);
        server.createTopic(OUT);
        server.createSubscription(IN_SUB, IN);
        server.createSubscription(OUT_SUB, OUT);
    }

    private PubSubSourceBuilder<String> texts() {
        return texts(IN_SUB);
    }

    private static List<String> payloads(List<PubsubMessage> messages) {
        return messages.stream()
                .map(message -> message.getData().toStringUtf8())
                .sorted()
                .collect(Collectors.toList());
    }

    @Test
    @Tag("smoke")
    void copiesEverythingAndAcknowledgesIt() throws Exception {
        List<String> texts = numbered(0, 5_000);
        for (int from = 0; from < texts.size(); from += 1_000) {
            server.publish(IN, texts.subList(from, from + 1_000).toArray(new String[0]));
        }
        StreamExecutionEnvironment env = environment(2);
        env.fromSource(texts().build(), WatermarkStrategy.noWatermarks(), "in")
                .sinkTo(
                        PubSubSink.<String>builder()
                                .topic(TopicDestination.parse(OUT))
                                .serializer(
                                        PubSubSerializationSchema.payload(new SimpleStringSchema())
                                                .withAttributes(
                                                        text ->
                                                                Map.of(
                                                                        "length",
                                                                        "" + text.length()))
                                                .withOrderingKey(text -> text.substring(0, 2)))
                                .publisherOptions(
                                        PubSubPublisherOptions.builder()
                                                .enableMessageOrdering(true)
                                                .build())
                                .emulatorEndpoint(server.endpoint())
                                .build());
        job = env.executeAsync();
        List<PubsubMessage> out = server.receive(OUT_SUB, texts.size(), TIMEOUT_MILLIS);
        stop();

        assertThat(payloads(out)).isEqualTo(sorted(texts));
        for (PubsubMessage message : out) {
            String text = message.getData().toStringUtf8();
            assertThat(message.getAttributesMap()).isEqualTo(Map.of("length", "" + text.length()));
            assertThat(message.getOrderingKey()).isEqualTo(text.substring(0, 2));
        }
        assertThat(server.pull(IN_SUB, 1_000)).isEmpty();
        assertThat(server.pull(OUT_SUB, 1_000)).isEmpty();
    }

    private PubSubSink<String> sink(
            Function<PubSubSinkBuilder<String>, PubSubSinkBuilder<String>> settings) {
        return settings.apply(
                        PubSubSink.<String>builder()
                                .topic(TopicDestination.parse(OUT))
                                .serializer(
                                        PubSubSerializationSchema.payload(new SimpleStringSchema()))
                                .emulatorEndpoint(server.endpoint()))
                .build();
    }

    private static String failure(ThrowingCallable job) {
        Throwable thrown = catchThrowable(job);
        assertThat(thrown).as("the job's failure").isNotNull();
        return ExceptionUtils.stringifyException(thrown);
    }

    private static void read(StreamExecutionEnvironment env, PubSubSource<String> source) {
        env.fromSource(source, WatermarkStrategy.noWatermarks(), "in")
                .sinkTo(new DiscardingSink<>());
    }

    @Test
    void aMissingSubscriptionIsNamed() {
        StreamExecutionEnvironment env = environment(1);
        read(
                env,
                PubSubSource.<String>builder()
                        .subscription(SubscriptionDestination.of("p", "nowhere"))
                        .deserializer(new SimpleStringSchema())
                        .emulatorEndpoint(server.endpoint())
                        .build());
        assertThat(failure(env::execute))
                .contains("PubSubException")
                .contains("NOT_FOUND")
                .contains("projects/p/subscriptions/nowhere");
    }

    @Test
    void aMissingTopicIsNamed() {
        StreamExecutionEnvironment env = environment(1);
        // A source that does not end: Flink may report a lost end of input instead of the failure.
        server.publish(IN, "a");
        env.fromSource(texts().build(), WatermarkStrategy.noWatermarks(), "in")
                .sinkTo(
                        sink(
                                s ->
                                        s.topic(TopicDestination.of("p", "nowhere"))
                                                .createDisposition(
                                                        CreateDisposition.CREATE_NEVER)));
        assertThat(failure(env::execute))
                .contains("PubSubException")
                .contains("NOT_FOUND")
                .contains("projects/p/topics/nowhere")
                .contains("createDisposition is CREATE_NEVER");
    }

    @Test
    void aMissingTopicIsCreated() throws Exception {
        String created = "projects/p/topics/created";
        StreamExecutionEnvironment env = environment(2);
        env.fromData(numbered(0, 100))
                .sinkTo(
                        sink(
                                s ->
                                        s.topic(TopicDestination.parse(created))
                                                .topicCreateOptions(
                                                        TopicCreateOptions.builder()
                                                                .messageRetention(
                                                                        Duration.ofHours(1))
                                                                .label("made-by", "test")
                                                                .build())));
        env.execute();
        Topic topic =
                server.publisher().getTopic(GetTopicRequest.newBuilder().setTopic(created).build());
        assertThat(topic.getLabelsMap()).isEqualTo(Map.of("made-by", "test"));
        assertThat(topic.getMessageRetentionDuration().getSeconds()).isEqualTo(3_600);
        // Its messages are found again through the topic's own retention.
        String sub = "projects/p/subscriptions/created-sub";
        server.createSubscription(sub, created);
        server.subscriber()
                .seek(
                        SeekRequest.newBuilder()
                                .setSubscription(sub)
                                .setTime(Timestamp.newBuilder())
                                .build());
        assertThat(payloads(server.receive(sub, 100, TIMEOUT_MILLIS)))
                .isEqualTo(sorted(numbered(0, 100)));
    }

    @Test
    void nothingListens() throws Exception {
        int port;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = socket.getLocalPort();
        }
        StreamExecutionEnvironment env = environment(1);
        read(env, texts().emulatorEndpoint("127.0.0.1:" + port).build());
        assertThat(failure(env::execute)).contains("UNAVAILABLE").contains("127.0.0.1:" + port);
    }

    @Test
    @Tag("flink2")
    void checkpointingThatIsOffIsFoundAtTheStart() {
        StreamExecutionEnvironment env = environment(1);
        env.getCheckpointConfig().disableCheckpointing();
        read(env, texts().build());
        assertThat(failure(env::execute))
                .contains("checkpointing is off")
                .contains("execution.checkpointing.interval")
                .contains("firstCheckpointTimeout");
    }

    @Test
    void checkpointsThatNeverCompleteAreFound() {
        server.publish(IN, "a");
        StreamExecutionEnvironment env = environment(1);
        env.enableCheckpointing(3_600_000);
        env.fromSequence(1, 1).map(new NeverReady()).sinkTo(new DiscardingSink<>());
        read(
                env,
                texts().subscriberOptions(
                                PubSubSubscriberOptions.builder()
                                        .firstCheckpointTimeout(Duration.ofSeconds(1))
                                        .build())
                        .build());
        assertThat(failure(env::execute))
                .contains("no checkpoint has completed within PT1S of the first message");
    }

    @Test
    void whatCannotBeDecodedFailsTheJobWithItsPosition() {
        String id =
                server.publish(
                                IN,
                                List.of(
                                        PubsubMessage.newBuilder()
                                                .setData(ByteString.copyFromUtf8("x"))
                                                .build()))
                        .get(0);
        StreamExecutionEnvironment env = environment(1);
        env.fromSource(numbers().build(), WatermarkStrategy.noWatermarks(), "in")
                .sinkTo(new DiscardingSink<>());
        assertThat(failure(env::execute))
                .contains("message " + id + " of " + IN_SUB)
                .contains("cannot be deserialized")
                .contains("NumberFormatException")
                .contains("deserializationFailurePolicy");
    }

    @Test
    void droppedMessagesAreAcknowledged() throws Exception {
        server.publish(IN, "1", "x", "2");
        StreamExecutionEnvironment env = environment(1);
        env.fromSource(
                        numbers()
                                .deserializationFailurePolicy(DeserializationFailurePolicy.DROP)
                                .build(),
                        WatermarkStrategy.noWatermarks(),
                        "in")
                .map(number -> "n" + number)
                .sinkTo(sink(s -> s));
        job = env.executeAsync();
        assertThat(payloads(server.receive(OUT_SUB, 2, TIMEOUT_MILLIS)))
                .containsExactly("n1", "n2");
        stop();
        assertThat(server.pull(IN_SUB, 10)).isEmpty();
    }

    @Test
    void anOperatorBehindTheSourceIsNotBlamedOnTheSchema() {
        server.publish(IN, "1");
        StreamExecutionEnvironment env = environment(1);
        env.fromSource(numbers().build(), WatermarkStrategy.noWatermarks(), "in")
                .map(
                        number -> {
                            if (number == 1) {
                                throw new IllegalStateException("thrown by a map");
                            }
                            return number;
                        })
                .returns(Types.LONG)
                .sinkTo(new DiscardingSink<>());
        assertThat(failure(env::execute))
                .contains("thrown by a map")
                .doesNotContain("deserializ" + "ationFailurePolicy")
                .doesNotContain("cannot be deserialized");
    }

    @Test
    @Tag("smoke")
    void afterAFailureNothingIsLost() throws Exception {
        List<String> texts = numbered(0, 2_000);
        server.publish(IN, texts.subList(0, 1_000).toArray(new String[0]));
        server.publish(IN, texts.subList(1_000, 2_000).toArray(new String[0]));
        FailOnce.failed.set(false);
        StreamExecutionEnvironment env = environment(1, restarts(1));
        env.fromSource(texts().build(), WatermarkStrategy.noWatermarks(), "in")
                .map(new FailOnce("m1500"))
                .sinkTo(sink(s -> s));
        job = env.executeAsync();
        Set<String> distinct = new TreeSet<>();
        while (distinct.size() < texts.size()) {
            server.receive(OUT_SUB, 1, TIMEOUT_MILLIS)
                    .forEach(message -> distinct.add(message.getData().toStringUtf8()));
            server.pull(OUT_SUB, 1_000)
                    .forEach(message -> distinct.add(message.getData().toStringUtf8()));
        }
        stop();
        assertThat(FailOnce.failed).isTrue();
        assertThat(new ArrayList<>(distinct)).isEqualTo(sorted(texts));
        assertThat(server.pull(IN_SUB, 1_000)).isEmpty();
    }

    @Test
    void everyPartOfAMessageArrives() throws Exception {
        PubsubMessage sent =
                PubsubMessage.newBuilder()
                        .setData(ByteString.copyFrom(new byte[] {0, (byte) 0xff, 'x'}))
                        .putAttributes("nul", "a\u0000b")
                        .putAttributes("emoji 😀", "é😀")
                        .putAttributes("time", "2024-05-06T07:08:09.123456789+02:00")
                        .setOrderingKey("key😀")
                        .build();
        String id = server.publish(IN, List.of(sent)).get(0);
        StreamExecutionEnvironment env = environment(1);
        env.fromSource(
                        PubSubSource.<String>builder()
                                .subscription(SubscriptionDestination.parse(IN_SUB))
                                .deserializer(new Describe())
                                .timestampAttribute("time")
                                .emulatorEndpoint(server.endpoint())
                                .build(),
                        WatermarkStrategy.noWatermarks(),
                        "in")
                .sinkTo(sink(s -> s.serializer(new WithTimestamp())));
        job = env.executeAsync();
        String described = payloads(server.receive(OUT_SUB, 1, TIMEOUT_MILLIS)).get(0);
        stop();
        assertThat(described)
                .startsWith(
                        "1714972089123|[0, -1, 120]|{emoji 😀=é😀, nul=a\u0000b,"
                                + " time=2024-05-06T07:08:09.123456789+02:00}|é😀|null|key😀|"
                                + id
                                + "|0|"
                                + IN_SUB
                                + "|");
        Instant published = Instant.parse(described.substring(described.lastIndexOf('|') + 1));
        assertThat(published).isBetween(Instant.now().minusSeconds(60), Instant.now());
    }

    @Test
    void aSplittingSchemaMaySkip() throws Exception {
        server.publish(IN, "a", "1,2,3");
        server.publish(
                IN, List.of(PubsubMessage.newBuilder().putAttributes("only", "this").build()));
        StreamExecutionEnvironment env = environment(1);
        env.fromSource(
                        PubSubSource.<String>builder()
                                .subscription(SubscriptionDestination.parse(IN_SUB))
                                .deserializer(new SplitAtCommas())
                                .emulatorEndpoint(server.endpoint())
                                .build(),
                        WatermarkStrategy.noWatermarks(),
                        "in")
                .sinkTo(sink(s -> s));
        job = env.executeAsync();
        assertThat(payloads(server.receive(OUT_SUB, 4, TIMEOUT_MILLIS)))
                .containsExactly("1", "2", "3", "a");
        stop();
        assertThat(server.pull(IN_SUB, 10)).isEmpty();
    }

    @Test
    void aKeyWithoutOrderingNamesTheOption() {
        StreamExecutionEnvironment env = environment(1);
        server.publish(IN, "a");
        env.fromSource(texts().build(), WatermarkStrategy.noWatermarks(), "in")
                .sinkTo(
                        sink(
                                s ->
                                        s.serializer(
                                                PubSubSerializationSchema.payload(
                                                                new SimpleStringSchema())
                                                        .withOrderingKey(text -> text))));
        assertThat(failure(env::execute)).contains("enableMessageOrdering");
    }

    @Test
    @Tag("smoke")
    void boundedInputIsPublishedToTheTopicOfEachRecord() throws Exception {
        String other = "projects/p/topics/other";
        String otherSub = "projects/p/subscriptions/other-sub";
        server.createTopic(other);
        server.createSubscription(otherSub, other);
        List<String> texts = numbered(0, 3_000);
        StreamExecutionEnvironment env = environment(2);
        env.fromData(texts)
                .sinkTo(
                        PubSubSink.<String>builder()
                                .destinationResolver(
                                        (text, context) ->
                                                TopicDestination.parse(
                                                        text.endsWith("7") ? other : OUT))
                                .serializer(
                                        PubSubSerializationSchema.payload(new SimpleStringSchema()))
                                .emulatorEndpoint(server.endpoint())
                                .build());
        env.execute();
        assertThat(payloads(server.receive(OUT_SUB, 2_700, TIMEOUT_MILLIS)))
                .isEqualTo(
                        texts.stream()
                                .filter(text -> !text.endsWith("7"))
                                .sorted()
                                .collect(Collectors.toList()));
        assertThat(payloads(server.receive(otherSub, 300, TIMEOUT_MILLIS)))
                .allMatch(text -> text.endsWith("7"))
                .doesNotHaveDuplicates();
    }

    @Test
    void deadLettersTellWhatHappened() throws Exception {
        String letters = "projects/p/topics/letters";
        String lettersSub = "projects/p/subscriptions/letters-sub";
        server.createTopic(letters);
        server.createSubscription(lettersSub, letters);
        StreamExecutionEnvironment env = environment(1);
        env.fromData("good", "bad")
                .sinkTo(
                        sink(
                                s ->
                                        s.serializer(
                                                        PubSubSerializationSchema.payload(
                                                                        new SimpleStringSchema())
                                                                .withAttributes(
                                                                        text ->
                                                                                Map.of(
                                                                                        text.equals(
                                                                                                        "bad")
                                                                                                ? "google"
                                                                                                : "k",
                                                                                        "v")))
                                                .failedMessageHandler(
                                                        FailedMessageHandler.sendToDeadLetterTopic(
                                                                TopicDestination.parse(letters)))));
        env.execute();
        assertThat(payloads(server.receive(OUT_SUB, 1, TIMEOUT_MILLIS))).containsExactly("good");
        PubsubMessage letter = server.receive(lettersSub, 1, TIMEOUT_MILLIS).get(0);
        assertThat(letter.getData().toStringUtf8()).isEqualTo("bad");
        assertThat(letter.getAttributesMap())
                .containsEntry("pubsub-failed-connector", "flink-connector-pubsub-native")
                .containsEntry("pubsub-failed-destination", OUT)
                .containsEntry("pubsub-failed-subtask", "0")
                .hasEntrySatisfying(
                        "pubsub-failed-error",
                        error -> assertThat(error).contains("'google' starts with 'goog'"))
                .hasEntrySatisfying("pubsub-failed-time", Instant::parse)
                .hasSize(5);
    }

    @Test
    void perKeyOrderHoldsAndSurplusSubtasksEnd() throws Exception {
        String ordered = "projects/p/subscriptions/ordered-sub";
        server.createOrderedSubscription(ordered, IN);
        List<PubsubMessage> messages = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            messages.add(
                    PubsubMessage.newBuilder()
                            .setData(ByteString.copyFromUtf8("" + i))
                            .setOrderingKey("k" + i % 7)
                            .build());
        }
        for (int key = 0; key < 7; key++) {
            String wanted = "k" + key;
            server.publish(
                    IN,
                    messages.stream()
                            .filter(message -> message.getOrderingKey().equals(wanted))
                            .collect(Collectors.toList()));
        }
        StreamExecutionEnvironment env = environment(2);
        env.fromSource(
                        PubSubSource.<String>builder()
                                .subscription(SubscriptionDestination.parse(ordered))
                                .deserializer(new SimpleStringSchema())
                                .orderingMode(OrderingMode.PER_KEY)
                                .emulatorEndpoint(server.endpoint())
                                .build(),
                        WatermarkStrategy.noWatermarks(),
                        "in")
                .sinkTo(new CollectingSink());
        CollectingSink.records.clear();
        job = env.executeAsync();
        CollectingSink.await(1_000, TIMEOUT_MILLIS);
        // Acks come with checkpoints, which complete although one subtask has ended.
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(TIMEOUT_MILLIS);
        while (server.control().subscription(ordered).acked() < 1_000) {
            assertThat(System.nanoTime()).as("acks").isLessThan(deadline);
            Thread.onSpinWait();
        }
        cancel();
        int[] last = {-1, -1, -1, -1, -1, -1, -1};
        for (String record : CollectingSink.records) {
            int number = Integer.parseInt(record);
            assertThat(number).isGreaterThan(last[number % 7]);
            last[number % 7] = number;
        }
        assertThat(server.pull(ordered, 10)).isEmpty();
    }

    @Test
    void cancelledJobsLeaveNoThreadBehind() throws Exception {
        long before = threads("pubsub-native");
        for (int round = 0; round < 4; round++) {
            server.publish(IN, "m" + round);
            StreamExecutionEnvironment env = environment(2);
            env.fromSource(texts().build(), WatermarkStrategy.noWatermarks(), "in")
                    .sinkTo(sink(s -> s));
            job = env.executeAsync();
            server.receive(OUT_SUB, 1, TIMEOUT_MILLIS);
            cancel();
            awaitNoThread("pubsub-writer-");
            awaitThreads("pubsub-native", before);
        }
    }

    /** Threads of this process, Java's and others, whose name starts so. */
    private static long threads(String name) throws IOException {
        try (Stream<Path> tasks = Files.list(Paths.get("/proc/self/task"))) {
            return tasks.filter(
                            task -> {
                                try {
                                    return Files.readString(task.resolve("comm")).startsWith(name);
                                } catch (IOException e) {
                                    return false;
                                }
                            })
                    .count();
        }
    }

    private static void awaitNoThread(String name) throws Exception {
        awaitThreads(name, 0);
    }

    private static void awaitThreads(String name, long most) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(TIMEOUT_MILLIS);
        while (threads(name) > most) {
            assertThat(System.nanoTime()).as("a thread named " + name).isLessThan(deadline);
            Thread.onSpinWait();
        }
    }

    private PubSubSourceBuilder<Long> numbers() {
        return PubSubSource.<Long>builder()
                .subscription(SubscriptionDestination.parse(IN_SUB))
                .deserializer(new Numbers())
                .emulatorEndpoint(server.endpoint());
    }
}

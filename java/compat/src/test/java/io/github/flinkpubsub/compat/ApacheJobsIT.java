package io.github.flinkpubsub.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.google.auth.Credentials;
import com.google.protobuf.ByteString;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.ReceivedMessage;

import io.github.flinkpubsub.compat.PubSubSource.PubSubSourceBuilder;
import io.github.flinkpubsub.it.Certificate;
import io.github.flinkpubsub.testing.Fault;
import io.github.flinkpubsub.testing.FaultAction;
import io.github.flinkpubsub.testing.PubSubEmulator;
import io.grpc.Status;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.CloseableIterator;
import org.apache.flink.util.ExceptionUtils;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Jobs as users of Apache's connector write them, with other imports, fromSource and sinkTo. */
@Tag("integration")
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class ApacheJobsIT {

    private static final String IN = "projects/p/topics/input";
    private static final String IN_SUB = "projects/p/subscriptions/input-sub";
    private static final String OUT = "projects/p/topics/output";
    private static final String OUT_SUB = "projects/p/subscriptions/output-sub";

    private PubSubEmulator server;

    @BeforeEach
    void startServer() throws Exception {
        server = PubSubEmulator.start();
        server.createTopic(IN);
        server.createTopic(OUT);
        server.createSubscription(IN_SUB, IN);
        server.createSubscription(OUT_SUB, OUT);
    }

    @AfterEach
    void stopServer() {
        server.close();
    }

    private static StreamExecutionEnvironment environment(int parallelism) {
        Configuration configuration = new Configuration();
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "none");
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.createLocalEnvironment(parallelism, configuration);
        env.enableCheckpointing(200);
        return env;
    }

    private PubSubSubscriberFactory emulator(int maxMessages, Duration timeout, int retries) {
        return new PubSubSubscriberFactoryForEmulator(
                server.endpoint(), "p", "input-sub", retries, timeout, maxMessages);
    }

    private PubSubSourceBuilder<String> texts() {
        return PubSubSource.newBuilder()
                .withDeserializationSchema(new SimpleStringSchema())
                .withProjectName("p")
                .withSubscriptionName("input-sub")
                .withCredentials(EmulatorCredentials.getInstance())
                .withPubSubSubscriberFactory(emulator(100, Duration.ofSeconds(15), 3));
    }

    private static <T> DataStream<T> stream(
            StreamExecutionEnvironment env, PubSubSource<T> source) {
        return env.fromSource(source, WatermarkStrategy.noWatermarks(), "in");
    }

    private static <T> List<T> take(CloseableIterator<T> records, int count) {
        List<T> taken = new ArrayList<>();
        while (taken.size() < count) {
            taken.add(records.next());
        }
        return taken;
    }

    private static List<String> numbered(int count) {
        return IntStream.range(0, count).mapToObj(i -> "m" + i).collect(Collectors.toList());
    }

    private void publish(Collection<String> texts) {
        server.publish(IN, texts.toArray(new String[0]));
    }

    private static void await(String what, BooleanSupplier condition) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as(what).isLessThan(deadline);
            TimeUnit.MILLISECONDS.sleep(20);
        }
    }

    private void awaitAcked(int count) throws Exception {
        await(
                count + " acknowledged",
                () -> server.control().subscription(IN_SUB).acked() == count);
    }

    private static String failure(StreamExecutionEnvironment env) {
        Throwable thrown = catchThrowable(env::execute);
        assertThat(thrown).as("the job's failure").isNotNull();
        return ExceptionUtils.stringifyException(thrown);
    }

    @Test
    void readsTextsAndAcknowledgesThem() throws Exception {
        publish(numbered(500));
        try (CloseableIterator<String> records =
                stream(environment(2), texts().build()).executeAndCollect()) {
            assertThat(take(records, 500)).containsExactlyInAnyOrderElementsOf(numbered(500));
            awaitAcked(500);
        }
    }

    @Test
    void readsWholeMessages() throws Exception {
        PubsubMessage message =
                PubsubMessage.newBuilder()
                        .setData(ByteString.copyFromUtf8("päyload"))
                        .putAttributes("a", "1")
                        .putAttributes("b", "é😀")
                        .setOrderingKey("key")
                        .build();
        List<String> ids = server.publish(IN, List.of(message));
        PubSubSource<String> source =
                PubSubSource.newBuilder()
                        .withDeserializationSchema(new Whole())
                        .withProjectName("p")
                        .withSubscriptionName("input-sub")
                        .withPubSubSubscriberFactory(emulator(100, Duration.ofSeconds(15), 3))
                        .build();
        try (CloseableIterator<String> records =
                stream(environment(1), source).executeAndCollect()) {
            assertThat(records.next())
                    .isEqualTo("päyload {a=1, b=é😀} key " + ids.get(0) + " published");
        }
    }

    @Test
    void theEndOfStreamEndsAllSubtasks() throws Exception {
        publish(List.of("a", "b", "end"));
        PubSubSource<String> source =
                PubSubSource.newBuilder()
                        .withDeserializationSchema(new UntilEnd())
                        .withProjectName("p")
                        .withSubscriptionName("input-sub")
                        .withPubSubSubscriberFactory(emulator(100, Duration.ofSeconds(15), 3))
                        .build();
        List<String> records = new ArrayList<>();
        try (CloseableIterator<String> all = stream(environment(4), source).executeAndCollect()) {
            all.forEachRemaining(records::add);
        }
        assertThat(records).isSubsetOf("a", "b");
        // The message of the end is acknowledged, too; what was not emitted stays.
        assertThat(server.control().subscription(IN_SUB).acked()).isEqualTo(records.size() + 1);
    }

    @Test
    void maxMessagesTimeoutAndRetriesReachTheNativeClient() throws Exception {
        // Were an attempt to take 20 s, this would take 20 s.
        server.control().addFault(Fault.on("Acknowledge", FaultAction.silence()).times(1));
        publish(numbered(10));
        long start = System.nanoTime();
        try (CloseableIterator<String> records =
                stream(
                                environment(1),
                                texts().withPubSubSubscriberFactory(
                                                emulator(3, Duration.ofMillis(500), 3))
                                        .build())
                        .executeAndCollect()) {
            take(records, 10);
            awaitAcked(10);
        }
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(19));
    }

    @Test
    void aServiceThatDoesNotAnswerIsTriedForRetriesTimesTimeout() throws Exception {
        server.control()
                .addFault(
                        Fault.on(
                                "StreamingPull",
                                FaultAction.status(Status.Code.UNAVAILABLE, "not now")));
        StreamExecutionEnvironment env = environment(1);
        stream(
                        env,
                        texts().withPubSubSubscriberFactory(
                                        emulator(100, Duration.ofMillis(200), 1))
                                .build())
                .sinkTo(new DiscardingSink<>());
        long start = System.nanoTime();
        assertThat(failure(env)).contains("UNAVAILABLE").contains("not now");
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(19));
    }

    @Test
    void theRateIsLimitedPerSubtask() throws Exception {
        publish(numbered(51));
        long start = System.nanoTime();
        try (CloseableIterator<String> records =
                stream(environment(1), texts().withMessageRateLimit(20).build())
                        .executeAndCollect()) {
            assertThat(take(records, 51)).hasSize(51);
        }
        assertThat(Duration.ofNanos(System.nanoTime() - start))
                .isGreaterThan(Duration.ofMillis(1_450));
    }

    @Test
    @Tag("flink2")
    void withoutCheckpointingTheJobDoesNotStart() throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(1);
        stream(env, texts().build()).sinkTo(new DiscardingSink<>());
        assertThat(failure(env))
                .contains("java.lang.IllegalArgumentException")
                .contains("enableCheckpointing");
    }

    @Test
    void aFactoryOfOnesOwnIsHonoured() throws Exception {
        OwnFactory.reset();
        for (int i = 0; i < 20; i++) {
            OwnFactory.messages.add(
                    ReceivedMessage.newBuilder()
                            .setAckId("ack-" + i)
                            .setMessage(
                                    PubsubMessage.newBuilder()
                                            .setData(ByteString.copyFromUtf8("m" + i)))
                            .build());
        }
        PubSubSource<String> source =
                PubSubSource.newBuilder()
                        .withDeserializationSchema(new SimpleStringSchema())
                        .withProjectName("p")
                        .withSubscriptionName("not-looked-at")
                        .withCredentials(new Named("me"))
                        .withPubSubSubscriberFactory(new OwnFactory())
                        .build();
        try (CloseableIterator<String> records =
                stream(environment(2), source).executeAndCollect()) {
            assertThat(take(records, 20)).containsExactlyInAnyOrderElementsOf(numbered(20));
            await("20 acknowledged", () -> OwnFactory.acknowledged.size() == 20);
        }
        assertThat(OwnFactory.acknowledged)
                .containsExactlyInAnyOrderElementsOf(
                        IntStream.range(0, 20)
                                .mapToObj(i -> "ack-" + i)
                                .collect(Collectors.toList()));
        assertThat(OwnFactory.credentials).containsExactly("me", "me");
        await("both closed", () -> OwnFactory.closed.get() == 2);
    }

    @Test
    void aFactoryOfOnesOwnAndTheEndOfStream() throws Exception {
        OwnFactory.reset();
        for (String text : List.of("a", "end", "b")) {
            OwnFactory.messages.add(
                    ReceivedMessage.newBuilder()
                            .setAckId("ack-" + text)
                            .setMessage(
                                    PubsubMessage.newBuilder()
                                            .setData(ByteString.copyFromUtf8(text)))
                            .build());
        }
        PubSubSource<String> source =
                PubSubSource.newBuilder()
                        .withDeserializationSchema(new UntilEnd())
                        .withProjectName("p")
                        .withSubscriptionName("orders-sub")
                        .withPubSubSubscriberFactory(new OwnFactory())
                        .build();
        List<String> records = new ArrayList<>();
        try (CloseableIterator<String> all = stream(environment(1), source).executeAndCollect()) {
            all.forEachRemaining(records::add);
        }
        assertThat(records).containsExactly("a");
        assertThat(OwnFactory.acknowledged).containsExactlyInAnyOrder("ack-a", "ack-end");
        assertThat(OwnFactory.closed).hasValue(1);
        // Those of the environment, which are looked up only when they are used.
        assertThat(OwnFactory.credentials).containsExactly("OAuth2");
    }

    @Test
    void writesTexts() throws Exception {
        PubSubSink<String> sink =
                PubSubSink.newBuilder()
                        .withSerializationSchema(new SimpleStringSchema())
                        .withProjectName("p")
                        .withTopicName("output")
                        .withCredentials(EmulatorCredentials.getInstance())
                        .withHostAndPortForEmulator(server.endpoint())
                        .build();
        StreamExecutionEnvironment env = environment(1);
        env.fromData("a", "b", "c").sinkTo(sink);
        env.execute();
        assertThat(server.pull(OUT_SUB, 10))
                .extracting(message -> message.getData().toStringUtf8())
                .containsExactlyInAnyOrder("a", "b", "c");
    }

    @Test
    void aMissingTopicIsNotCreated() throws Exception {
        PubSubSink<String> sink =
                PubSubSink.newBuilder()
                        .withSerializationSchema(new SimpleStringSchema())
                        .withProjectName("p")
                        .withTopicName("nowhere")
                        .withHostAndPortForEmulator(server.endpoint())
                        .build();
        StreamExecutionEnvironment env = environment(1);
        env.fromData("a").sinkTo(sink);
        assertThat(failure(env)).contains("NOT_FOUND").contains("projects/p/topics/nowhere");
    }

    @Test
    void tokensComeFromTheCredentials(@TempDir Path dir) throws Exception {
        Certificate certificate = Certificate.in(dir);
        try (PubSubEmulator guarded =
                PubSubEmulator.start(
                        "--tls-cert",
                        certificate.file(),
                        "--tls-key",
                        certificate.keyFile(),
                        "--require-token",
                        "the-token")) {
            guarded.createTopic(IN);
            guarded.createTopic(OUT);
            guarded.createSubscription(IN_SUB, IN);
            guarded.createSubscription(OUT_SUB, OUT);
            guarded.publish(IN, "a", "b");
            StreamExecutionEnvironment env = environment(1);
            PubSubSource<String> source =
                    PubSubSource.newBuilder()
                            .withDeserializationSchema(new UntilEnd())
                            .withProjectName("p")
                            .withSubscriptionName("input-sub")
                            .withCredentials(new Named("the-token"))
                            .server(guarded.endpoint(), certificate.file())
                            .build();
            stream(env, source)
                    .sinkTo(
                            PubSubSink.newBuilder()
                                    .withSerializationSchema(new SimpleStringSchema())
                                    .withProjectName("p")
                                    .withTopicName("output")
                                    .withCredentials(new Named("the-token"))
                                    .server(guarded.endpoint(), certificate.file())
                                    .build());
            JobClient job = env.executeAsync();
            assertThat(guarded.receive(OUT_SUB, 2, 60_000))
                    .extracting(message -> message.getData().toStringUtf8())
                    .containsExactlyInAnyOrder("a", "b");
            job.cancel().get();
        }
    }

    /** Shows every part of a message. */
    private static final class Whole implements PubSubDeserializationSchema<String> {

        private static final long serialVersionUID = 1L;

        private transient boolean open;

        @Override
        public void open(DeserializationSchema.InitializationContext context) {
            open = true;
        }

        @Override
        public boolean isEndOfStream(String nextElement) {
            return false;
        }

        @Override
        public String deserialize(PubsubMessage message) {
            assertThat(open).isTrue();
            return message.getData().toStringUtf8()
                    + " "
                    + new TreeMap<>(message.getAttributesMap())
                    + " "
                    + message.getOrderingKey()
                    + " "
                    + message.getMessageId()
                    + (message.getPublishTime().getSeconds() > 0 ? " published" : "");
        }

        @Override
        public TypeInformation<String> getProducedType() {
            return Types.STRING;
        }
    }

    private static final class UntilEnd implements PubSubDeserializationSchema<String> {

        private static final long serialVersionUID = 1L;

        @Override
        public boolean isEndOfStream(String text) {
            return text.equals("end");
        }

        @Override
        public String deserialize(PubsubMessage message) {
            return message.getData().toStringUtf8();
        }

        @Override
        public TypeInformation<String> getProducedType() {
            return Types.STRING;
        }
    }

    /** Hands out the messages of a list, one by one. */
    private static final class OwnFactory implements PubSubSubscriberFactory {

        static final Queue<ReceivedMessage> messages = new ConcurrentLinkedQueue<>();
        static final List<String> acknowledged = Collections.synchronizedList(new ArrayList<>());
        static final List<String> credentials = Collections.synchronizedList(new ArrayList<>());
        static final AtomicInteger closed = new AtomicInteger();

        private static final long serialVersionUID = 1L;

        static void reset() {
            Arrays.<Collection<?>>asList(messages, acknowledged, credentials)
                    .forEach(Collection::clear);
            closed.set(0);
        }

        @Override
        public PubSubSubscriber getSubscriber(Credentials given) {
            credentials.add(given.getAuthenticationType());
            return new PubSubSubscriber() {
                @Override
                public List<ReceivedMessage> pull() {
                    ReceivedMessage next = messages.poll();
                    return next == null ? Collections.emptyList() : List.of(next);
                }

                @Override
                public void acknowledge(List<String> ids) {
                    acknowledged.addAll(ids);
                }

                @Override
                public void close() {
                    closed.incrementAndGet();
                }
            };
        }
    }
}

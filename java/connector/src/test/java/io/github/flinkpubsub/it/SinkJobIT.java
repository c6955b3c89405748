package io.github.flinkpubsub.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.PubSubSerializationSchema;
import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.sink.CreateDisposition;
import io.github.flinkpubsub.sink.PubSubPublisherOptions;
import io.github.flinkpubsub.sink.PubSubSink;
import io.github.flinkpubsub.sink.PubSubSinkBuilder;
import io.github.flinkpubsub.source.PubSubSource;
import io.github.flinkpubsub.testing.Fault;
import io.github.flinkpubsub.testing.FaultAction;
import io.github.flinkpubsub.testing.PubSubEmulator;
import io.grpc.Status.Code;

import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.ExceptionUtils;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Jobs that write while the service fails on purpose. */
@Tag("integration")
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class SinkJobIT {

    private static final String IN = "projects/p/topics/input";
    private static final String IN_SUB = "projects/p/subscriptions/input-sub";
    private static final String OUT = "projects/p/topics/output";
    private static final String OUT_SUB = "projects/p/subscriptions/output-sub";
    private static final long TIMEOUT_MILLIS = 60_000;

    private PubSubEmulator server;

    @TempDir private Path savepoints;

    @BeforeEach
    void startServer() throws Exception {
        server = PubSubEmulator.start();
        server.createTopic(IN);
        server.createTopic(OUT);
        server.createSubscription(IN_SUB, IN);
        server.createSubscription(OUT_SUB, OUT);
        server.control().forgetRequests();
    }

    @AfterEach
    void stopServer() {
        server.close();
    }

    private static StreamExecutionEnvironment environment(
            int parallelism, UnaryOperator<Configuration> settings) {
        Configuration configuration = new Configuration();
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "none");
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.createLocalEnvironment(
                        parallelism, settings.apply(configuration));
        env.enableCheckpointing(200);
        return env;
    }

    private static StreamExecutionEnvironment environment(int parallelism) {
        return environment(parallelism, configuration -> configuration);
    }

    /** Records of the input topic: a stream that does not end. */
    private DataStream<String> input(StreamExecutionEnvironment env) {
        return env.fromSource(
                PubSubSource.<String>builder()
                        .subscription(SubscriptionDestination.parse(IN_SUB))
                        .deserializer(new SimpleStringSchema())
                        .emulatorEndpoint(server.endpoint())
                        .build(),
                WatermarkStrategy.noWatermarks(),
                "in");
    }

    private PubSubSink<String> sink(
            PubSubPublisherOptions.Builder options,
            Function<PubSubSinkBuilder<String>, PubSubSinkBuilder<String>> settings) {
        return settings.apply(
                        PubSubSink.<String>builder()
                                .topic(TopicDestination.parse(OUT))
                                .serializer(
                                        PubSubSerializationSchema.payload(new SimpleStringSchema()))
                                .publisherOptions(
                                        options.recoveryInitialBackoff(Duration.ofMillis(20))
                                                .recoveryMaxBackoff(Duration.ofMillis(100))
                                                .retryInitialDelay(Duration.ofMillis(10))
                                                .retryMaxDelay(Duration.ofMillis(100))
                                                .build())
                                .emulatorEndpoint(server.endpoint()))
                .build();
    }

    private PubSubSink<String> sink(PubSubPublisherOptions.Builder options) {
        return sink(options, builder -> builder);
    }

    private static List<String> numbered(int from, int to) {
        return IntStream.range(from, to)
                .mapToObj(i -> String.format("m%05d", i))
                .collect(Collectors.toList());
    }

    private void publishInput(List<String> texts) {
        server.publish(IN, texts.toArray(new String[0]));
    }

    private List<String> output(int count) {
        return server.receive(OUT_SUB, count, TIMEOUT_MILLIS).stream()
                .map(message -> message.getData().toStringUtf8())
                .sorted()
                .collect(Collectors.toList());
    }

    private void awaitHits(long hits) {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(TIMEOUT_MILLIS);
        while (server.control().faults().get(0).hits() < hits) {
            assertThat(System.nanoTime()).as(hits + " hits").isLessThan(deadline);
        }
    }

    private static String failure(JobClient job) {
        Throwable thrown =
                catchThrowable(
                        () ->
                                job.getJobExecutionResult()
                                        .get(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS));
        assertThat(thrown).isInstanceOf(ExecutionException.class);
        return ExceptionUtils.stringifyException(thrown);
    }

    @Test
    void aRefusalFailsTheJobAtOnceWithoutFurtherInput() throws Exception {
        server.control()
                .addFault(
                        Fault.on("Publish", FaultAction.status(Code.PERMISSION_DENIED, "not you"))
                                .resource(OUT)
                                .whenDataContains("m00056"));
        StreamExecutionEnvironment env = environment(1);
        // No checkpoint, and so no flush, can find the failure.
        env.enableCheckpointing(3_600_000);
        input(env).sinkTo(sink(PubSubPublisherOptions.builder().batchElementCountThreshold(1)));
        JobClient job = env.executeAsync();
        publishInput(numbered(0, 100));
        awaitHits(1);
        assertThat(failure(job))
                .contains("PERMISSION_DENIED")
                .contains("not you")
                .contains(OUT)
                .contains("pubsub.topics.publish");
    }

    @Test
    void aMissingTopicIsCreatedByEightWritersAndTakesItsTime() throws Exception {
        String created = "projects/p/topics/created";
        // Each writer's first publish and the two after it find nothing.
        server.control()
                .addFault(
                        Fault.on("Publish", FaultAction.status(Code.NOT_FOUND, "not yet"))
                                .resource(created)
                                .times(24));
        server.control().record(true);
        StreamExecutionEnvironment env = environment(8);
        List<String> texts = numbered(0, 8_000);
        env.fromData(texts)
                .rebalance()
                .sinkTo(
                        sink(
                                PubSubPublisherOptions.builder().recoveryMaxAttempts(100),
                                builder -> builder.topic(TopicDestination.parse(created))));
        env.execute();
        assertThat(server.control().calls().get("CreateTopic")).isBetween(1L, 8L);
        List<String> published =
                server.control().requests("Publish").stream()
                        .filter(request -> request.status().orElse("").equals("OK"))
                        .flatMap(request -> request.messages().stream())
                        .map(message -> message.data())
                        .sorted()
                        .collect(Collectors.toList());
        assertThat(published).isEqualTo(texts);
    }

    @Test
    void aPublishOnlyIdentityRunsAJobAndNamesTheOptionForAMissingTopic() throws Exception {
        for (String method : List.of("GetTopic", "CreateTopic", "UpdateTopic", "ListTopics")) {
            server.control()
                    .addFault(
                            Fault.on(
                                    method,
                                    FaultAction.status(Code.PERMISSION_DENIED, "publish only")));
        }
        StreamExecutionEnvironment env = environment(2);
        env.fromData(numbered(0, 100)).sinkTo(sink(PubSubPublisherOptions.builder()));
        env.execute();
        assertThat(output(100)).isEqualTo(numbered(0, 100));
        assertThat(server.control().faults()).allMatch(fault -> fault.matched() == 0);

        StreamExecutionEnvironment missing = environment(1);
        input(missing)
                .sinkTo(
                        sink(
                                PubSubPublisherOptions.builder(),
                                builder ->
                                        builder.topic(TopicDestination.of("p", "missing"))
                                                .createDisposition(
                                                        CreateDisposition.CREATE_NEVER)));
        JobClient job = missing.executeAsync();
        publishInput(List.of("a"));
        assertThat(failure(job))
                .contains("projects/p/topics/missing")
                .contains("createDisposition is CREATE_NEVER");
        assertThat(server.control().calls().get("CreateTopic")).isZero();
    }

    /** With few messages the writer waits for more input, with many for room. */
    @ParameterizedTest
    @ValueSource(ints = {5, 1_000})
    void aCancelDuringAnOutageEndsInSeconds(int messages) throws Exception {
        server.control()
                .addFault(
                        Fault.on("Publish", FaultAction.status(Code.UNAVAILABLE, "down"))
                                .resource(OUT));
        StreamExecutionEnvironment env = environment(2);
        input(env)
                .sinkTo(
                        sink(
                                PubSubPublisherOptions.builder()
                                        .enableMessageOrdering(true)
                                        .maxInFlightMessages(10),
                                builder ->
                                        builder.serializer(
                                                PubSubSerializationSchema.payload(
                                                                new SimpleStringSchema())
                                                        .withOrderingKey(text -> "k"))));
        JobClient job = env.executeAsync();
        publishInput(numbered(0, messages));
        awaitHits(3);
        long start = System.nanoTime();
        job.cancel().get(1, TimeUnit.MINUTES);
        Throwable thrown =
                catchThrowable(() -> job.getJobExecutionResult().get(1, TimeUnit.MINUTES));
        assertThat(ExceptionUtils.stringifyException(thrown)).contains("JobCancellationException");
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(12));
    }

    @Test
    void anOutageFailsByNameAlthoughCheckpointsMayFail() throws Exception {
        server.control()
                .addFault(
                        Fault.on("Publish", FaultAction.status(Code.UNAVAILABLE, "down"))
                                .resource(OUT));
        StreamExecutionEnvironment env =
                environment(
                        1,
                        configuration -> {
                            configuration.set(
                                    CheckpointingOptions.TOLERABLE_FAILURE_NUMBER, 1_000_000);
                            return configuration;
                        });
        input(env)
                .sinkTo(
                        sink(
                                PubSubPublisherOptions.builder()
                                        .publishProgressTimeout(Duration.ofSeconds(1))));
        JobClient job = env.executeAsync();
        publishInput(numbered(0, 10));
        assertThat(failure(job))
                .contains("publishProgressTimeout")
                .contains("UNAVAILABLE")
                .contains(OUT);
    }

    @Test
    void anOutageThatEndsIsNoFailure() throws Exception {
        String down =
                server.control()
                        .addFault(
                                Fault.on("Publish", FaultAction.status(Code.UNAVAILABLE, "down"))
                                        .resource(OUT));
        StreamExecutionEnvironment env = environment(1);
        input(env).sinkTo(sink(PubSubPublisherOptions.builder().maxInFlightMessages(100)));
        JobClient job = env.executeAsync();
        publishInput(numbered(0, 1_000));
        awaitHits(5);
        server.control().removeFault(down);
        assertThat(output(1_000)).isEqualTo(numbered(0, 1_000));
        job.cancel().get(1, TimeUnit.MINUTES);
    }

    @ParameterizedTest
    @EnumSource(
            value = RuntimeExecutionMode.class,
            names = {"STREAMING", "BATCH"})
    void boundedInputIsFlushedAtItsEnd(RuntimeExecutionMode mode) throws Exception {
        StreamExecutionEnvironment env = environment(2);
        env.setRuntimeMode(mode);
        env.getCheckpointConfig().disableCheckpointing();
        // Only a flush sends what waits for so long.
        env.fromData(numbered(0, 1_234))
                .sinkTo(
                        sink(
                                PubSubPublisherOptions.builder()
                                        .batchDelayThreshold(Duration.ofHours(1))));
        env.execute();
        assertThat(output(1_234)).isEqualTo(numbered(0, 1_234));
    }

    @Test
    @Tag("smoke")
    void theSinksParallelismChangesAcrossARestore() throws Exception {
        String savepoint = null;
        List<String> out = new ArrayList<>();
        int[] parallelism = {1, 3, 2};
        for (int round = 0; round < parallelism.length; round++) {
            StreamExecutionEnvironment env = restored(savepoint);
            input(env)
                    .rebalance()
                    .sinkTo(sink(PubSubPublisherOptions.builder()))
                    .uid("sink")
                    .setParallelism(parallelism[round]);
            JobClient job = env.executeAsync();
            publishInput(numbered(1_000 * round, 1_000 * (round + 1)));
            out.addAll(output(1_000));
            savepoint = Savepoints.stop(job, savepoints);
        }
        Collections.sort(out);
        assertThat(out).isEqualTo(numbered(0, 3_000));
        assertThat(server.pull(OUT_SUB, 10)).isEmpty();
        assertThat(server.pull(IN_SUB, 10)).isEmpty();
    }

    private static StreamExecutionEnvironment restored(String savepoint) {
        return environment(
                4,
                configuration -> {
                    if (savepoint != null) {
                        configuration.setString("execution.savepoint.path", savepoint);
                        configuration.setString("execution.state-recovery.path", savepoint);
                    }
                    return configuration;
                });
    }

    @Test
    void theEventTimeAndAnIdArrive() throws Exception {
        StreamExecutionEnvironment env = environment(1);
        env.fromData("a", "b")
                .assignTimestampsAndWatermarks(
                        WatermarkStrategy.<String>noWatermarks()
                                .withTimestampAssigner((text, time) -> 1_000L + text.charAt(0)))
                .sinkTo(
                        sink(
                                PubSubPublisherOptions.builder(),
                                builder ->
                                        builder.serializer(
                                                PubSubSerializationSchema.payload(
                                                                new SimpleStringSchema())
                                                        .withTimestampAttribute("ts")
                                                        .withIdAttribute(
                                                                "id", text -> "#" + text))));
        env.execute();
        List<Map<String, String>> attributes =
                server.receive(OUT_SUB, 2, TIMEOUT_MILLIS).stream()
                        .map(PubsubMessage::getAttributesMap)
                        .collect(Collectors.toList());
        assertThat(attributes)
                .containsExactlyInAnyOrder(
                        Map.of("ts", "1097", "id", "#a"), Map.of("ts", "1098", "id", "#b"));
    }

    @Test
    void aResolverThatFailsNamesTheRecordsPosition() throws Exception {
        StreamExecutionEnvironment env = environment(1);
        PubSubSink<String> sink =
                PubSubSink.<String>builder()
                        .destinationResolver(
                                (text, context) ->
                                        text.equals("c") ? null : TopicDestination.parse(OUT))
                        .serializer(PubSubSerializationSchema.payload(new SimpleStringSchema()))
                        .emulatorEndpoint(server.endpoint())
                        .build();
        input(env).sinkTo(sink);
        JobClient job = env.executeAsync();
        publishInput(List.of("a", "b", "c"));
        assertThat(failure(job))
                .contains("the destinationResolver failed at record 3 of subtask 0 (timestamp 1")
                .contains("it answered null instead of a topic");
    }
}

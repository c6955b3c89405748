package io.github.flinkpubsub.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.google.protobuf.ByteString;
import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.source.PubSubSource;
import io.github.flinkpubsub.source.PubSubSourceBuilder;
import io.github.flinkpubsub.testing.EmulatorControl;
import io.github.flinkpubsub.testing.PubSubEmulator;
import io.github.flinkpubsub.testing.SubscriptionState;

import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.ExceptionUtils;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** A server, a job on it that does not restart by itself, and waiting for what it does. */
abstract class JobTest {

    static final long TIMEOUT_MILLIS = 60_000;

    PubSubEmulator server;
    EmulatorControl control;

    /** Cancelled after the test, unless it is null. */
    JobClient job;

    @TempDir private Path savepoints;

    @BeforeEach
    void startServer() throws Exception {
        server = PubSubEmulator.start();
        control = server.control();
        CollectingSink.records.clear();
    }

    @AfterEach
    void stopServer() throws Exception {
        try {
            cancel();
        } finally {
            server.close();
        }
    }

    /** Cancels the job, if it runs. */
    void cancel() throws Exception {
        if (job != null) {
            job.cancel().get(1, TimeUnit.MINUTES);
            job = null;
        }
    }

    static StreamExecutionEnvironment environment(int parallelism) {
        return environment(parallelism, new Configuration());
    }

    /** Checkpoints come five times a second. */
    static StreamExecutionEnvironment environment(int parallelism, Configuration configuration) {
        if (!configuration.contains(RestartStrategyOptions.RESTART_STRATEGY)) {
            configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "none");
        }
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.createLocalEnvironment(parallelism, configuration);
        env.enableCheckpointing(200);
        return env;
    }

    /** Restarts at once, so many times. */
    static Configuration restarts(int times) {
        Configuration configuration = new Configuration();
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "fixed-delay");
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_ATTEMPTS, times);
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_DELAY, Duration.ZERO);
        return configuration;
    }

    /** Reads texts. */
    PubSubSourceBuilder<String> texts(String... subscriptions) {
        PubSubSourceBuilder<String> builder =
                PubSubSource.<String>builder()
                        .deserializer(new SimpleStringSchema())
                        .emulatorEndpoint(server.endpoint());
        for (String subscription : subscriptions) {
            builder.subscription(SubscriptionDestination.parse(subscription));
        }
        return builder;
    }

    static List<String> numbered(int from, int to) {
        return IntStream.range(from, to).mapToObj(i -> "m" + i).collect(Collectors.toList());
    }

    static List<String> sorted(List<String> texts) {
        return texts.stream().sorted().collect(Collectors.toList());
    }

    void publish(String topic, List<String> texts) {
        server.publish(topic, texts.toArray(new String[0]));
    }

    /** Publishes a text with one attribute. */
    void publish(String topic, String text, String attribute, String value) {
        server.publish(
                topic,
                List.of(
                        PubsubMessage.newBuilder()
                                .setData(ByteString.copyFromUtf8(text))
                                .putAttributes(attribute, value)
                                .build()));
    }

    /** What has been collected, in the order in which it came. */
    static List<String> records() {
        synchronized (CollectingSink.records) {
            return new ArrayList<>(CollectingSink.records);
        }
    }

    long unacked(String subscription) {
        SubscriptionState state = control.subscription(subscription);
        return state.backlog() + state.outstanding();
    }

    void awaitUnacked(String subscription, long messages) {
        await(messages + " unacked messages", () -> unacked(subscription) == messages);
    }

    static void await(String what, BooleanSupplier reached) {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(TIMEOUT_MILLIS);
        while (!reached.getAsBoolean()) {
            assertThat(System.nanoTime()).as("waited for " + what).isLessThan(deadline);
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
        }
    }

    /** Waits for the job's failure. */
    String failure() {
        Throwable failure =
                catchThrowable(
                        () ->
                                job.getJobExecutionResult()
                                        .get(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS));
        assertThat(failure).as("the job's failure").isNotNull();
        job = null;
        return ExceptionUtils.stringifyException(failure);
    }

    /** Stops the job with a savepoint and answers where it is. */
    String stop() throws Exception {
        String savepoint = Savepoints.stop(job, savepoints);
        job = null;
        return savepoint;
    }
}

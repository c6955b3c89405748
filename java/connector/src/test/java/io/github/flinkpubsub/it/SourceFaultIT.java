package io.github.flinkpubsub.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.pubsub.v1.GetTopicRequest;
import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.source.OrderingMode;
import io.github.flinkpubsub.source.PubSubSource;
import io.github.flinkpubsub.source.PubSubSubscriberOptions;
import io.github.flinkpubsub.testing.EmulatorControl;
import io.github.flinkpubsub.testing.Fault;
import io.github.flinkpubsub.testing.FaultAction;
import io.github.flinkpubsub.testing.PubSubEmulator;
import io.github.flinkpubsub.testing.SubscriptionState;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * A job at parallelism 4 reads two subscriptions while faults strike from a fixed seed.
 *
 * <p>The system properties {@code pubsub.soak.messages}, {@code pubsub.soak.faults} and {@code
 * pubsub.soak.seed} set how long it runs, how often it is struck, and how.
 */
@Tag("integration")
@Tag("soak")
class SourceFaultIT {

    private static final int MESSAGES = Integer.getInteger("pubsub.soak.messages", 100_000);
    private static final int FAULTS = Integer.getInteger("pubsub.soak.faults", 28);
    private static final long SEED = Long.getLong("pubsub.soak.seed", 20_240_601);

    /** An even number: odd keys are of the one topic, even keys of the other. */
    private static final int KEYS = 100;

    /** From so many messages on, memory that grows with them shows. */
    private static final int LONG_FORM = 1_000_000;

    private static final int PUBLISHED_AT_ONCE = 1_000;
    private static final Duration LIMIT = Duration.ofMinutes(2);

    private final List<String> subscriptions =
            List.of("projects/p/subscriptions/even-sub", "projects/p/subscriptions/odd-sub");
    private final List<String> topics = List.of("projects/p/topics/even", "projects/p/topics/odd");
    private final Random random = new Random(SEED);

    private boolean tasksFail = true;
    private PubSubEmulator server;
    private EmulatorControl control;
    private JobClient job;

    @BeforeEach
    void startServer() throws Exception {
        server = PubSubEmulator.start();
        control = server.control();
        topics.forEach(server::createTopic);
        Arrivals.expect(MESSAGES);
    }

    @AfterEach
    void stop() throws Exception {
        if (job != null) {
            job.cancel().get(1, TimeUnit.MINUTES);
        }
        server.close();
    }

    @Test
    void everyMessageArrives(TestReporter reporter) throws Exception {
        for (int i = 0; i < 2; i++) {
            server.createSubscription(subscriptions.get(i), topics.get(i));
        }
        run(OrderingMode.NONE, reporter);
    }

    @Test
    void onlyRestartsBringAMessageTwice(TestReporter reporter) throws Exception {
        tasksFail = false;
        for (int i = 0; i < 2; i++) {
            server.createSubscription(subscriptions.get(i), topics.get(i));
        }
        run(OrderingMode.NONE, reporter);
        assertThat(Arrivals.all).as("records").hasValue(MESSAGES);
    }

    @Test
    void keysKeepTheirOrder(TestReporter reporter) throws Exception {
        for (int i = 0; i < 2; i++) {
            server.createOrderedSubscription(subscriptions.get(i), topics.get(i));
        }
        run(OrderingMode.PER_KEY, reporter);
        assertThat(Arrivals.gaps).as("numbers before those before them").hasValue(0);
        assertThat(Arrivals.stepsBack).as("steps back within an attempt").hasValue(0);
    }

    private void run(OrderingMode mode, TestReporter reporter) throws Exception {
        job = start(mode);
        List<Strike> strikes = strikes();
        int published = 0;
        long residentEarly = 0;
        for (int i = 0; i < strikes.size(); i++) {
            Strike strike = strikes.get(i);
            if (i == strikes.size() / 4) {
                residentEarly = residentBytes();
            }
            int arrived = Arrivals.all.get();
            strike.before.run();
            int end = (int) ((long) MESSAGES * (i + 1) / strikes.size());
            publish(published, end, mode == OrderingMode.PER_KEY);
            published = end;
            strike.after.run();
            await("records after " + strike.name, () -> Arrivals.all.get() > arrived);
        }
        await("all messages", () -> Arrivals.distinct.get() == MESSAGES);
        control.removeFaults();
        for (String subscription : subscriptions) {
            await(
                    "the last acks of " + subscription,
                    () -> {
                        SubscriptionState state = control.subscription(subscription);
                        return state.backlog() + state.outstanding() == 0;
                    });
        }
        long failures =
                strikes.stream().filter(strike -> tasksFail && strike.name.equals("task")).count();
        assertThat(Arrivals.failures).as("tasks that failed").hasValue((int) failures);
        long grown = residentBytes() - residentEarly;
        reporter.publishEntry(
                Map.of(
                        "messages",
                        "" + MESSAGES,
                        "faults",
                        "" + strikes.size(),
                        "restarts",
                        "" + failures,
                        "duplicates",
                        "" + (Arrivals.all.get() - MESSAGES),
                        "steps back",
                        "" + Arrivals.stepsBack,
                        "bytes grown",
                        "" + grown));
        if (MESSAGES >= LONG_FORM) {
            // Less than a third of what it were if each message left 500 bytes.
            assertThat(grown).as("growth since the first quarter").isLessThan(MESSAGES * 120L);
        }
    }

    /** The size of this process; 0 where the system does not tell. */
    private static long residentBytes() throws IOException {
        Path status = Paths.get("/proc/self/status");
        if (!Files.exists(status)) {
            return 0;
        }
        for (String line : Files.readAllLines(status)) {
            if (line.startsWith("VmRSS:")) {
                return Long.parseLong(line.replaceAll("\\D", "")) * 1024;
            }
        }
        return 0;
    }

    private JobClient start(OrderingMode mode) throws Exception {
        Configuration configuration = new Configuration();
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "fixed-delay");
        configuration.set(
                RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_ATTEMPTS, Integer.MAX_VALUE);
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_DELAY, Duration.ZERO);
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.createLocalEnvironment(4, configuration);
        env.enableCheckpointing(200);
        // What is lost with a connection comes again when its lease has run out.
        Duration lease = Duration.ofSeconds(10);
        PubSubSource<String> source =
                PubSubSource.<String>builder()
                        .subscription(SubscriptionDestination.parse(subscriptions.get(0)))
                        .subscription(SubscriptionDestination.parse(subscriptions.get(1)))
                        .deserializer(new SimpleStringSchema())
                        .orderingMode(mode)
                        .subscriberOptions(
                                PubSubSubscriberOptions.builder()
                                        .minDurationPerAckExtension(lease)
                                        .maxDurationPerAckExtension(lease)
                                        .build())
                        .emulatorEndpoint(server.endpoint())
                        .build();
        env.fromSource(source, WatermarkStrategy.noWatermarks(), "in")
                .map(new Arrivals(KEYS))
                .sinkTo(new DiscardingSink<>());
        return env.executeAsync();
    }

    private void publish(int from, int to, boolean keyed) {
        // A request has messages of one topic and, with keys, of one key.
        int groups = keyed ? KEYS : 2;
        for (int group = 0; group < groups; group++) {
            List<PubsubMessage> messages = new ArrayList<>();
            for (int number = from + Math.floorMod(group - from, groups);
                    number < to;
                    number += groups) {
                PubsubMessage.Builder message =
                        PubsubMessage.newBuilder().setData(ByteString.copyFromUtf8("" + number));
                if (keyed) {
                    message.setOrderingKey("k" + group);
                }
                messages.add(message.build());
            }
            for (int at = 0; at < messages.size(); at += PUBLISHED_AT_ONCE) {
                int until = Math.min(at + PUBLISHED_AT_ONCE, messages.size());
                server.publish(topics.get(group % 2), messages.subList(at, until));
            }
        }
    }

    /** Connections were closed, the publisher's among them: returns when it has another one. */
    private void reconnect() {
        GetTopicRequest request = GetTopicRequest.newBuilder().setTopic(topics.get(0)).build();
        await(
                "a connection",
                () -> {
                    try {
                        server.publisher().getTopic(request);
                        return true;
                    } catch (StatusRuntimeException e) {
                        return false;
                    }
                });
    }

    /** As many strikes as asked for, of all kinds alike, in an order of the seed. */
    private List<Strike> strikes() {
        List<Supplier<Strike>> kinds =
                Arrays.asList(
                        this::task,
                        () -> streams("unavailable", FaultAction.status(Code.UNAVAILABLE, "")),
                        () -> streams("clean end", FaultAction.status(Code.OK, "")),
                        () -> streams("goaway", FaultAction.goAway(Duration.ofMillis(100))),
                        () -> streams("reset stream", FaultAction.rstStream(0)),
                        () -> connections("goaway"),
                        () -> connections("drop"),
                        () -> connections("reset"),
                        () -> calls("Acknowledge", FaultAction.status(Code.UNAVAILABLE, ""), 3),
                        () ->
                                calls(
                                        "ModifyAckDeadline",
                                        FaultAction.status(Code.UNAVAILABLE, ""),
                                        3),
                        () -> calls("Acknowledge", FaultAction.delay(Duration.ofMillis(300)), 5),
                        this::lostAnswer,
                        this::refusedStreams,
                        this::silence);
        List<Strike> strikes = new ArrayList<>();
        while (strikes.size() < FAULTS) {
            List<Supplier<Strike>> round = new ArrayList<>(kinds);
            Collections.shuffle(round, random);
            for (Supplier<Strike> kind :
                    round.subList(0, Math.min(round.size(), FAULTS - strikes.size()))) {
                strikes.add(kind.get());
            }
        }
        return strikes;
    }

    private String anySubscription() {
        return subscriptions.get(random.nextInt(2));
    }

    private Strike task() {
        return new Strike("task", () -> Arrivals.fail.set(tasksFail), () -> {});
    }

    private Strike streams(String name, FaultAction action) {
        String subscription = anySubscription();
        return new Strike(name, () -> {}, () -> control.closeStreams(subscription, action));
    }

    private Strike connections(String how) {
        return new Strike("connections: " + how, () -> {}, () -> closeConnections(how));
    }

    private void closeConnections(String how) {
        control.closeConnections(how);
        reconnect();
    }

    private Strike calls(String method, FaultAction action, int times) {
        return new Strike(
                method, () -> control.addFault(Fault.on(method, action).times(times)), () -> {});
    }

    /** Acks that are done and look as if they were not. */
    private Strike lostAnswer() {
        Fault fault = Fault.on("Acknowledge", FaultAction.drop()).afterEffect().times(1);
        return new Strike("lost answer", () -> control.addFault(fault), () -> {});
    }

    private Strike refusedStreams() {
        FaultAction unavailable = FaultAction.status(Code.UNAVAILABLE, "");
        return new Strike(
                "refused streams",
                () -> control.addFault(Fault.on("StreamingPull", unavailable).times(4)),
                () -> control.closeStreams(null, unavailable));
    }

    /** Connections that live and say nothing, until they break. */
    private Strike silence() {
        String subscription = anySubscription();
        Fault acks = Fault.on("Acknowledge", FaultAction.silence()).id("silence");
        return new Strike(
                "silence",
                () -> {
                    control.addFault(acks);
                    control.closeStreams(subscription, FaultAction.silence());
                },
                () -> {
                    control.removeFault("silence");
                    closeConnections("reset");
                });
    }

    private static void await(String what, BooleanSupplier reached) {
        long deadline = System.nanoTime() + LIMIT.toNanos();
        while (!reached.getAsBoolean()) {
            if (System.nanoTime() - deadline > 0) {
                throw new AssertionError(
                        "waited for "
                                + what
                                + ": "
                                + Arrivals.distinct
                                + " messages came, "
                                + Arrivals.all
                                + " records");
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
        }
    }

    /** What happens before and after the next messages are published. */
    private static final class Strike {
        private final String name;
        private final Runnable before;
        private final Runnable after;

        private Strike(String name, Runnable before, Runnable after) {
            this.name = name;
            this.before = before;
            this.after = after;
        }
    }
}

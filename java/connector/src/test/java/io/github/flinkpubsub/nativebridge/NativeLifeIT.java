package io.github.flinkpubsub.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.google.protobuf.ByteString;
import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.testing.PubSubEmulator;

import org.apache.flink.util.UserCodeClassLoader;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.nio.file.Files;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** What the library holds while clients are open, and afterwards. */
@Tag("library")
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class NativeLifeIT {

    private static final String TOPIC = "projects/p/topics/topic";
    private static final String SUBSCRIPTION = "projects/p/subscriptions/subscription";

    private PubSubEmulator server;
    private long threads;

    @BeforeEach
    void startServer() throws Exception {
        server = PubSubEmulator.start();
        server.createTopic(TOPIC);
        server.createSubscription(SUBSCRIPTION, TOPIC);
        threads = NativeProcess.nativeThreads();
    }

    @AfterEach
    void stopServer() {
        System.clearProperty(NativeLibrary.THREADS_PROPERTY);
        server.close();
    }

    private NativeOptions connection() {
        return new NativeOptions().put("emulator-endpoint", server.endpoint());
    }

    private NativeSubscriber subscriber() throws Exception {
        NativeSubscriber subscriber =
                NativeSubscriber.open(connection().put("client-id-prefix", "life"));
        subscriber.addSplit(SUBSCRIPTION);
        return subscriber;
    }

    private static boolean hasLogThread() {
        return Thread.getAllStackTraces().keySet().stream()
                .anyMatch(thread -> thread.getName().equals("pubsub-native-log"));
    }

    @Test
    void threadsAreThereWhileAClientIsOpen() throws Exception {
        System.setProperty(NativeLibrary.THREADS_PROPERTY, "3");
        NativeAdmin first = NativeAdmin.open(connection());
        NativeAdmin second = NativeAdmin.open(connection());
        NativeProcess.await("three threads", () -> NativeProcess.nativeThreads() == threads + 3);
        assertThat(hasLogThread()).isTrue();
        first.close();
        first.close();
        assertThat(second.describeTopic(TOPIC)).isEmpty();
        assertThat(NativeProcess.nativeThreads()).isEqualTo(threads + 3);
        second.close();
        NativeProcess.await("no threads", () -> NativeProcess.nativeThreads() == threads);
        assertThat(hasLogThread()).isFalse();
    }

    /** Processors that a process may not use, as those beyond a container's limit, do not count. */
    @Test
    void withoutASettingTheProcessorsTellTheNumberOfThreads() throws Exception {
        String[] arguments = {server.endpoint(), TOPIC};
        ChildJvm.Ended all = new ChildJvm().run(ThreadsMain.class, arguments);
        int processors = Runtime.getRuntime().availableProcessors();
        int half = Math.max(1, Math.min(4, processors / 2));
        assertThat(all.output).contains(half + " threads for " + processors + " processors");
        ChildJvm.Ended one =
                new ChildJvm()
                        .under("taskset", "-c", firstProcessor())
                        .run(ThreadsMain.class, arguments);
        assertThat(one.output).contains("1 threads for 1 processors");
    }

    private static String firstProcessor() throws Exception {
        // "Cpus_allowed_list:	0-1"
        return Files.readAllLines(Paths.get("/proc/self/status")).stream()
                .filter(line -> line.startsWith("Cpus_allowed_list:"))
                .map(line -> line.replaceAll("^\\D*(\\d+).*", "$1"))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void aNumberOfThreadsThatIsNoneIsRefused() throws Exception {
        for (String value : new String[] {"0", "65", "-1", "many", ""}) {
            System.setProperty(NativeLibrary.THREADS_PROPERTY, value);
            assertThatThrownBy(() -> NativeAdmin.open(connection()))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage(
                            "pubsub.native.threads must be a whole number from 1 to 64, not '"
                                    + value
                                    + "'");
        }
        System.clearProperty(NativeLibrary.THREADS_PROPERTY);
        try (NativeAdmin admin = NativeAdmin.open(connection())) {
            assertThat(admin.describeTopic(TOPIC)).isEmpty();
        }
    }

    @Test
    void aJobThatIsReleasedLeavesNothing() throws Exception {
        // Other tests play tasks of jobs whose end nobody tells.
        NativeLibrary.JOBS.clear();
        Job first = new Job();
        Job second = new Job();
        NativeLibrary.load(first, null);
        NativeLibrary.load(second, null);
        NativeLibrary.load(second, null);
        NativeSubscriber subscriber = subscriber();
        ExecutorService executor = Executors.newSingleThreadExecutor();
        Future<Throwable> poll =
                executor.submit(
                        () ->
                                catchThrowable(
                                        () ->
                                                subscriber.poll(
                                                        new NativeBatch(10_000, 10), 100_000)));
        NativeProcess.await("threads", () -> NativeProcess.nativeThreads() > threads);
        first.release();
        assertThat(NativeProcess.nativeThreads()).isGreaterThan(threads);
        assertThat(hasLogThread()).isTrue();
        second.release();
        NativeProcess.await("no threads", () -> NativeProcess.nativeThreads() == threads);
        assertThat(hasLogThread()).isFalse();
        assertThat(poll.get(10, TimeUnit.SECONDS)).isNull();
        executor.shutdown();

        // Another job of the same classes, while the task that was left behind still ends.
        String text = RoundTrip.run(server.endpoint(), TOPIC, SUBSCRIPTION, "the next job");
        assertThat(text).isEqualTo("the next job");
        subscriber.close(1_000);
        NativeProcess.await("no threads", () -> NativeProcess.nativeThreads() == threads);
        assertThat(hasLogThread()).isFalse();
    }

    @Test
    void memoryIsCounted() throws Exception {
        byte[] large = new byte[1_000_000];
        for (int i = 0; i < 16; i++) {
            server.publish(
                    TOPIC,
                    Collections.singleton(
                            PubsubMessage.newBuilder()
                                    .setData(ByteString.copyFrom(large))
                                    .build()));
        }
        try (NativeAdmin admin = NativeAdmin.open(connection())) {
            long before = NativeLibrary.memory();
            assertThat(before).isPositive();
            NativeSubscriber subscriber = subscriber();
            NativeProcess.await(
                    "all is buffered",
                    () ->
                            subscriber.counters()[SubscriberCounter.BUFFERED_MESSAGES.ordinal()]
                                    == 16);
            assertThat(NativeLibrary.memory() - before).isBetween(16_000_000L, 64_000_000L);
            subscriber.close(5_000);
            NativeProcess.await(
                    "it is given back", () -> NativeLibrary.memory() - before < 4_000_000);
        }
    }

    @Test
    void aJvmEndsWithClientsAtWork() throws Exception {
        for (int round = 0; round < 4; round++) {
            server.publish(TOPIC, "m" + round);
            boolean exit = round % 2 == 1;
            String[] arguments =
                    exit
                            ? new String[] {server.endpoint(), SUBSCRIPTION, "7"}
                            : new String[] {server.endpoint(), SUBSCRIPTION};
            ChildJvm.Ended ended = new ChildJvm().run(ExitMain.class, arguments);
            assertThat(ended.output).isEqualTo("the JVM waits for main\nworking\n");
            assertThat(ended.status).isEqualTo(exit ? 7 : 0);
            assertThat(ended.end).isLessThan(Duration.ofSeconds(10));
        }
    }

    /** What Flink tells of a job, and its end. */
    private static final class Job implements UserCodeClassLoader {

        private final ClassLoader loader = new ClassLoader() {};
        private final Map<String, Runnable> hooks = new HashMap<>();

        @Override
        public ClassLoader asClassLoader() {
            return loader;
        }

        @Override
        public void registerReleaseHookIfAbsent(String name, Runnable hook) {
            hooks.putIfAbsent(name, hook);
        }

        void release() {
            assertThat(hooks).hasSize(1);
            hooks.values().forEach(Runnable::run);
        }
    }
}

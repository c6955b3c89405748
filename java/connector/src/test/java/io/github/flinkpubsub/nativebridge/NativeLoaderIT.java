package io.github.flinkpubsub.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.github.flinkpubsub.testing.PubSubEmulator;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.lang.ref.WeakReference;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchEvent;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Loading the library: one copy for each class loader, and what is wrong with other libraries. */
@Tag("library")
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class NativeLoaderIT {

    private static final String TOPIC = "projects/p/topics/topic";
    private static final String SUBSCRIPTION = "projects/p/subscriptions/subscription";
    private static final Path LIBRARY =
            Paths.get(System.getProperty(NativeLoader.PATH_PROPERTY, ""));

    @TempDir private Path dir;
    private Path copies;

    @BeforeEach
    void directory() throws Exception {
        copies = Files.createDirectory(dir.resolve("copies"));
        System.setProperty(NativeLoader.DIR_PROPERTY, copies.toString());
    }

    @AfterEach
    void restore() {
        System.clearProperty(NativeLoader.DIR_PROPERTY);
        System.setProperty(NativeLoader.PATH_PROPERTY, LIBRARY.toString());
    }

    private static void load(ConnectorLoader classes) throws Throwable {
        try {
            classes.connectorClass(NativeLoader.class).getMethod("load").invoke(null);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private static String roundTrip(ConnectorLoader classes, PubSubEmulator server, String name)
            throws Exception {
        Method run =
                classes.connectorClass(RoundTrip.class)
                        .getMethod("run", String.class, String.class, String.class, String.class);
        return (String)
                run.invoke(null, server.endpoint(), TOPIC + name, SUBSCRIPTION + name, name);
    }

    private static PubSubEmulator server(String... names) throws Exception {
        PubSubEmulator server = PubSubEmulator.start();
        for (String name : names) {
            server.createTopic(TOPIC + name);
            server.createSubscription(SUBSCRIPTION + name, TOPIC + name);
        }
        return server;
    }

    private Path doctored(String name, byte[] bytes) throws Exception {
        return Files.write(dir.resolve(name), bytes);
    }

    /** The library with one text in it replaced by one of the same length. */
    private Path doctored(String from, String to) throws Exception {
        String bytes = new String(Files.readAllBytes(LIBRARY), StandardCharsets.ISO_8859_1);
        assertThat(to).hasSameSizeAs(from);
        assertThat(bytes).contains(from);
        return doctored(
                "libdoctored.so", bytes.replace(from, to).getBytes(StandardCharsets.ISO_8859_1));
    }

    private void assertNothingLeft() throws Exception {
        try (Stream<Path> left = Files.list(copies)) {
            assertThat(left).isEmpty();
        }
    }

    @Test
    void eachClassLoaderUnpacksOnceWhoeverLoads() throws Throwable {
        try (WatchService watch = copies.getFileSystem().newWatchService()) {
            WatchKey key = copies.register(watch, StandardWatchEventKinds.ENTRY_CREATE);
            List<ConnectorLoader> loaders = List.of(new ConnectorLoader(), new ConnectorLoader());
            ExecutorService executor = Executors.newFixedThreadPool(32);
            CountDownLatch start = new CountDownLatch(1);
            List<Future<?>> loads = new ArrayList<>();
            for (int i = 0; i < 32; i++) {
                Method load =
                        loaders.get(i % 2).connectorClass(NativeLoader.class).getMethod("load");
                loads.add(
                        executor.submit(
                                () -> {
                                    start.await();
                                    return load.invoke(null);
                                }));
            }
            start.countDown();
            for (Future<?> done : loads) {
                done.get(60, TimeUnit.SECONDS);
            }
            executor.shutdown();
            for (ConnectorLoader loader : loaders) {
                load(loader);
            }
            List<String> made = new ArrayList<>();
            for (WatchEvent<?> event : key.pollEvents()) {
                made.add(event.context().toString());
            }
            assertThat(made).hasSize(2).allMatch(name -> name.startsWith("pubsub-flink-"));
        }
        assertNothingLeft();
    }

    @Test
    void twoJobsWorkSideBySide() throws Exception {
        try (PubSubEmulator server = server("a", "b")) {
            ExecutorService executor = Executors.newFixedThreadPool(2);
            Future<String> a = executor.submit(() -> roundTrip(new ConnectorLoader(), server, "a"));
            Future<String> b = executor.submit(() -> roundTrip(new ConnectorLoader(), server, "b"));
            assertThat(a.get(60, TimeUnit.SECONDS)).isEqualTo("a");
            assertThat(b.get(60, TimeUnit.SECONDS)).isEqualTo("b");
            executor.shutdown();
        }
    }

    @Test
    void aJobMayBringAnotherVersionThanTheClusterHas() throws Exception {
        String here = NativeLoader.jarVersion();
        String there = "9" + here.substring(1);
        Path other = doctored(here, there);
        try (PubSubEmulator server = server("parent", "child")) {
            assertThat(
                            RoundTrip.run(
                                    server.endpoint(),
                                    TOPIC + "parent",
                                    SUBSCRIPTION + "parent",
                                    "parent"))
                    .isEqualTo("parent");
            System.clearProperty(NativeLoader.PATH_PROPERTY);
            ConnectorLoader child = new ConnectorLoader().version(there).library(other);
            assertThat(roundTrip(child, server, "child")).isEqualTo("child");
            Class<?> natives = child.connectorClass(LibraryNatives.class);
            Method version = natives.getDeclaredMethod("version");
            version.setAccessible(true);
            assertThat(new String((byte[]) version.invoke(null))).isEqualTo(there);
            assertThat(new String(LibraryNatives.version())).isEqualTo(here);
        }
    }

    @Test
    void theConnectorMayBeMovedToAnotherPackage() throws Exception {
        System.clearProperty(NativeLoader.PATH_PROPERTY);
        ConnectorLoader moved = new ConnectorLoader("org/example/shaded/").library(LIBRARY);
        assertThat(moved.connectorClass(NativeLoader.class).getName())
                .isEqualTo("org.example.shaded.nativebridge.NativeLoader");
        try (PubSubEmulator server = server("moved")) {
            assertThat(roundTrip(moved, server, "moved")).isEqualTo("moved");
        }
        Throwable refused =
                catchThrowable(() -> open(moved, "SubscriberNatives", "no-such-option"));
        assertThat(refused).isInstanceOf(IllegalArgumentException.class);
        Class<?> logger = moved.connectorClass(NativeLog.class);
        Method name = logger.getDeclaredMethod("logger", String.class);
        name.setAccessible(true);
        assertThat(((org.slf4j.Logger) name.invoke(null, "subscribe")).getName())
                .isEqualTo("org.example.shaded.native.subscribe");
    }

    /** A client of the natives themselves, which nobody closes. */
    private static long open(ConnectorLoader classes, String natives, String... pairs)
            throws Throwable {
        Class<?> options = classes.connectorClass(NativeOptions.class);
        Object built = options.getConstructor().newInstance();
        for (int i = 0; i < pairs.length; i += 2) {
            String value = i + 1 < pairs.length ? pairs[i + 1] : "";
            options.getMethod("put", String.class, String.class).invoke(built, pairs[i], value);
        }
        Method encode = options.getDeclaredMethod("encode");
        encode.setAccessible(true);
        String peer = NativeLoader.class.getPackageName() + "." + natives;
        Method open =
                classes.connectorClass(Class.forName(peer)).getDeclaredMethod("open", byte[].class);
        open.setAccessible(true);
        try {
            return (long) open.invoke(null, encode.invoke(built));
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    @Test
    void aFailedLoadCanBeTriedAgainAndAnInterruptDoesNotMatter() throws Throwable {
        ConnectorLoader classes = new ConnectorLoader();
        System.setProperty(NativeLoader.DIR_PROPERTY, dir.resolve("none").toString());
        assertThatThrownBy(() -> load(classes)).hasMessageContaining("pubsub.native.dir");
        System.setProperty(NativeLoader.DIR_PROPERTY, copies.toString());
        Thread.currentThread().interrupt();
        load(classes);
        assertThat(Thread.interrupted()).isTrue();
        try (PubSubEmulator server = server("again")) {
            assertThat(roundTrip(classes, server, "again")).isEqualTo("again");
        }
    }

    @Test
    void aLibraryOfAnotherVersionIsToldApart() throws Throwable {
        String here = NativeLoader.jarVersion();
        String there = "9" + here.substring(1);
        System.setProperty(NativeLoader.PATH_PROPERTY, doctored(here, there).toString());
        ConnectorLoader classes = new ConnectorLoader();
        assertThatThrownBy(() -> load(classes))
                .hasMessageContaining(
                        "it has version " + there + " but the jar has version " + here)
                .hasMessageContaining("remove the setting pubsub.native.path");
        assertNothingLeft();
        System.setProperty(NativeLoader.PATH_PROPERTY, LIBRARY.toString());
        load(classes);
    }

    @Test
    void aLibraryOfAnotherBuildIsToldApart() throws Throwable {
        // The signature of PublisherNatives.target.
        Path other = doctored("(JJJJ)V", "(JJJI)V");
        System.setProperty(NativeLoader.PATH_PROPERTY, other.toString());
        ConnectorLoader classes = new ConnectorLoader();
        assertThatThrownBy(() -> load(classes))
                .hasMessageContaining("it does not fit to the jar: ")
                .hasMessageContaining("PublisherNatives.target")
                .hasMessageContaining("remove the setting pubsub.native.path")
                .hasMessageNotContaining("pubsub.native.dir");
        assertNothingLeft();
        System.setProperty(NativeLoader.PATH_PROPERTY, LIBRARY.toString());
        load(classes);
    }

    @Test
    void aLibraryForAnotherProcessorIsToldApart() throws Exception {
        byte[] bytes = Files.readAllBytes(LIBRARY);
        bytes[18] = (byte) (bytes[18] == 62 ? 183 : 62);
        System.setProperty(NativeLoader.PATH_PROPERTY, doctored("libother.so", bytes).toString());
        assertThatThrownBy(() -> load(new ConnectorLoader()))
                .hasMessageContaining("it is built for ")
                .hasMessageContaining("this JVM is ")
                .hasMessageContaining("-Dpubsub.native.path=<file>");
        assertNothingLeft();
    }

    @Test
    void aLibraryForANewerGlibcIsToldApart() throws Exception {
        String text = new String(Files.readAllBytes(LIBRARY), StandardCharsets.ISO_8859_1);
        Matcher versions = Pattern.compile("GLIBC_2\\.[0-9]{2}(?=\0)").matcher(text);
        assertThat(versions.find()).isTrue();
        String found = versions.group();
        System.setProperty(NativeLoader.PATH_PROPERTY, doctored(found, "GLIBC_2.99").toString());
        assertThatThrownBy(() -> load(new ConnectorLoader()))
                .hasMessageContaining("it needs GLIBC_2.99, this machine's glibc is older")
                .hasMessageContaining("use the release jar");
        assertNothingLeft();
    }

    @Test
    void aCollectedClassLoaderTakesTheLibraryWithIt() throws Throwable {
        // Whatever of it stays behind stays once.
        try (PubSubEmulator server = server("warm", "gone")) {
            server.publish(TOPIC + "gone", "never read");
            long libraries = NativeProcess.libraries();
            ConnectorLoader warm = new ConnectorLoader();
            roundTrip(warm, server, "warm");
            long threads = NativeProcess.nativeThreads();
            WeakReference<ClassLoader> first = new WeakReference<>(warm);
            warm = null;
            NativeProcess.await("the first is collected", () -> first.get() == null);
            server.control().messages(SUBSCRIPTION + "gone");
            long polls = NativeProcess.polls();

            WeakReference<ClassLoader> collected = new WeakReference<>(streaming(server, "gone"));
            NativeProcess.await("the second is collected", () -> collected.get() == null);
            NativeProcess.await("its threads end", () -> NativeProcess.nativeThreads() == threads);
            NativeProcess.await("its descriptors are closed", () -> NativeProcess.polls() <= polls);
            NativeProcess.await(
                    "its code is unmapped", () -> NativeProcess.libraries() <= libraries);
        }
    }

    @Test
    void twentyJobsOneAfterTheOtherLeaveNoLibrary() throws Exception {
        try (PubSubEmulator server = server("many")) {
            long libraries = NativeProcess.libraries();
            long threads = NativeProcess.nativeThreads();
            long sockets = NativeProcess.sockets();
            List<WeakReference<ClassLoader>> jobs = new ArrayList<>();
            for (int job = 0; job < 20; job++) {
                ConnectorLoader classes = new ConnectorLoader();
                jobs.add(new WeakReference<>(classes));
                // A task has a thread of its own; one that has been in the library keeps it mapped.
                ExecutorService task = Executors.newSingleThreadExecutor();
                Future<String> came = task.submit(() -> roundTrip(classes, server, "many"));
                assertThat(came.get(60, TimeUnit.SECONDS)).isEqualTo("many");
                task.shutdown();
                assertThat(task.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
            }
            NativeProcess.await(
                    "all are collected", () -> jobs.stream().allMatch(job -> job.get() == null));
            NativeProcess.await(
                    "their code is unmapped", () -> NativeProcess.libraries() <= libraries);
            assertThat(NativeProcess.nativeThreads()).isEqualTo(threads);
            // The test's own client has one or two; one for each job would be twenty.
            assertThat(NativeProcess.sockets() - sockets).isLessThan(10);
        }
    }

    /** What is called when the executable ends is code of the library. */
    @Test
    void anExecutableForCredentialsMayOutliveItsJob() throws Exception {
        Path runs = Files.createFile(dir.resolve("runs"));
        Path executable = dir.resolve("executable");
        Files.writeString(executable, "while [ -e " + runs + " ]; do sleep 0.05; done");
        Path credentials = dir.resolve("credentials.json");
        Files.writeString(
                credentials,
                "{\"type\": \"external_account\", \"audience\": \"a\","
                        + " \"subject_token_type\": \"urn:ietf:params:oauth:token-type:jwt\","
                        + " \"token_url\": \"http://127.0.0.1:1/token\","
                        + " \"credential_source\": {\"executable\": {\"timeout_millis\": 200,"
                        + " \"command\": \"/bin/sh "
                        + executable
                        + "\"}}}");
        ChildJvm.Ended ended =
                new ChildJvm()
                        .environment("GOOGLE_APPLICATION_CREDENTIALS", credentials.toString())
                        .environment("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "1")
                        .run(OrphanMain.class, runs.toString());
        assertThat(ended.output)
                .contains("failed: true")
                .contains("handler of SIGCHLD: true")
                .contains("executables left: true")
                .contains("alive");
        assertThat(ended.status).isZero();
    }

    /** A class loader with a client that reads, and of which nobody knows. */
    private static ConnectorLoader streaming(PubSubEmulator server, String name) throws Throwable {
        ConnectorLoader classes = new ConnectorLoader();
        load(classes);
        long threads = NativeProcess.nativeThreads();
        long polls = NativeProcess.polls();
        assertThat(NativeProcess.libraries()).isPositive();
        long handle =
                open(
                        classes,
                        "SubscriberNatives",
                        "emulator-endpoint",
                        server.endpoint(),
                        "client-id-prefix",
                        "leaked");
        Method addSplit =
                classes.connectorClass(SubscriberNatives.class)
                        .getDeclaredMethod("addSplit", long.class, byte[].class);
        addSplit.setAccessible(true);
        addSplit.invoke(null, handle, (SUBSCRIPTION + name).getBytes());
        NativeProcess.await(
                "it streams",
                () -> !server.control().messages(SUBSCRIPTION + name, "outstanding").isEmpty());
        assertThat(NativeProcess.nativeThreads()).isGreaterThan(threads);
        assertThat(NativeProcess.polls()).isGreaterThan(polls);
        return classes;
    }
}

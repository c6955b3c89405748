package io.github.flinkpubsub.nativebridge;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What Linux says of this process. */
final class NativeProcess {

    private static final long DEADLINE_NANOS = 60_000_000_000L;

    private NativeProcess() {}

    /** Threads of the library's runtime. */
    static long nativeThreads() {
        return threads().stream().filter(name -> name.matches("pubsub-native-[0-9]+")).count();
    }

    private static List<String> threads() {
        try (Stream<Path> tasks = Files.list(Paths.get("/proc/self/task"))) {
            return tasks.map(NativeProcess::name).collect(Collectors.toList());
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String name(Path task) {
        try {
            return Files.readString(task.resolve("comm")).trim();
        } catch (IOException e) {
            return "";
        }
    }

    /** Copies of the library whose code is mapped. */
    static long libraries() {
        try (Stream<String> maps = Files.lines(Paths.get("/proc/self/maps"))) {
            return maps.filter(line -> line.contains("pubsub-flink-") && line.contains(" r-xp "))
                    .count();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /**
     * What runtimes wait with for their sockets. Of files and sockets the JVM opens and closes some
     * whenever it likes.
     */
    static long polls() {
        return descriptors("anon_inode:");
    }

    /** Sockets of any kind; clients of tests have some, too. */
    static long sockets() {
        return descriptors("socket:");
    }

    private static long descriptors(String kind) {
        try (Stream<Path> files = Files.list(Paths.get("/proc/self/fd"))) {
            return files.filter(file -> isA(kind, file)).count();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static boolean isA(String kind, Path file) {
        try {
            return Files.readSymbolicLink(file).toString().startsWith(kind);
        } catch (IOException e) {
            return false;
        }
    }

    /** Waits for a condition; garbage is collected meanwhile. */
    static void await(String what, BooleanSupplier condition) throws InterruptedException {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - start > DEADLINE_NANOS) {
                throw new AssertionError("not reached: " + what);
            }
            System.gc();
            Thread.sleep(50);
        }
    }
}

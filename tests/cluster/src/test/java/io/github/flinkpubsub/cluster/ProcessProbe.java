package io.github.flinkpubsub.cluster;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What a JVM of the cluster holds, as the JDK's {@code jcmd} and Linux tell it. */
final class ProcessProbe {
    private final long pid;

    ProcessProbe(long pid) {
        this.pid = pid;
    }

    /** Live class loaders of jobs; collects garbage first. */
    int jobClassLoaders() throws IOException {
        // "   5:   2   176  org.apache.flink.util.ChildFirstClassLoader"
        return jcmd("GC.class_histogram")
                .lines()
                .map(line -> line.trim().split("\\s+"))
                .filter(
                        fields ->
                                fields.length > 3
                                        && fields[3].equals(
                                                "org.apache.flink.util.ChildFirstClassLoader"))
                .mapToInt(fields -> Integer.parseInt(fields[1]))
                .sum();
    }

    /** Names of the threads that the native library has started. */
    List<String> nativeThreads() throws IOException {
        try (Stream<Path> tasks = Files.list(Paths.get("/proc/" + pid + "/task"))) {
            return tasks.map(ProcessProbe::name)
                    .filter(name -> name.startsWith("pubsub-"))
                    .sorted()
                    .collect(Collectors.toList());
        }
    }

    /** Copies of the native library that are mapped, each told once. */
    long mappedLibraries() throws IOException {
        return Files.readAllLines(Paths.get("/proc/" + pid + "/maps")).stream()
                .filter(line -> line.contains("libpubsub_flink"))
                .map(line -> line.trim().split("\\s+")[4])
                .distinct()
                .count();
    }

    /** What the open file descriptors are, each as Linux names it. */
    List<String> descriptors() throws IOException {
        try (Stream<Path> files = Files.list(Paths.get("/proc/" + pid + "/fd"))) {
            return files.map(ProcessProbe::target)
                    .filter(target -> !target.isEmpty())
                    .sorted()
                    .collect(Collectors.toList());
        }
    }

    private static String target(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString();
        } catch (IOException e) {
            // Closed meanwhile.
            return "";
        }
    }

    /** Resident memory beside the heap in MiB. */
    long memoryBesideTheHeap() throws IOException {
        long resident = 0;
        for (String line : Files.readAllLines(Paths.get("/proc/" + pid + "/status"))) {
            if (line.startsWith("VmRSS:")) {
                resident = Long.parseLong(line.replaceAll("[^0-9]", ""));
            }
        }
        // "garbage-first heap   total 262144K, used 3043K"
        long heap =
                jcmd("GC.heap_info")
                        .lines()
                        .filter(line -> line.contains("heap") && line.contains("total "))
                        .mapToLong(
                                line ->
                                        Long.parseLong(
                                                line.replaceAll(
                                                        ".*total (?:reserved \\d+K, committed"
                                                                + " )?(\\d+)K.*",
                                                        "$1")))
                        .sum();
        return (resident - heap) >> 10;
    }

    private String jcmd(String command) throws IOException {
        Process process =
                new ProcessBuilder(
                                System.getProperty("java.home") + "/bin/jcmd",
                                Long.toString(pid),
                                command)
                        .redirectErrorStream(true)
                        .start();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        try {
            if (process.waitFor() != 0) {
                throw new IOException("jcmd " + pid + " " + command + ": " + out);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException(e);
        }
        return out;
    }

    private static String name(Path task) {
        try {
            return Files.readString(task.resolve("comm")).trim();
        } catch (IOException e) {
            return "";
        }
    }
}

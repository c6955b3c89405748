package io.github.flinkpubsub.nativebridge;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A JVM of its own with this one's classes, for what would end or spoil this one. */
final class ChildJvm {

    private static final long TIMEOUT_SECONDS = 150;

    private final List<String> before = new ArrayList<>();
    private final List<String> options = new ArrayList<>();
    private final ProcessBuilder builder = new ProcessBuilder();

    ChildJvm() {
        String library = System.getProperty(NativeLoader.PATH_PROPERTY);
        options.add("-D" + NativeLoader.PATH_PROPERTY + "=" + library);
        options.add("-Xmx256m");
    }

    /** A command that runs the JVM. */
    ChildJvm under(String... command) {
        before.addAll(Arrays.asList(command));
        return this;
    }

    ChildJvm option(String option) {
        options.add(option);
        return this;
    }

    ChildJvm environment(String name, String value) {
        builder.environment().put(name, value);
        return this;
    }

    /** Runs a main method to the end of the process. */
    Ended run(Class<?> main, String... arguments) throws Exception {
        List<String> command = new ArrayList<>(before);
        Path java = Paths.get(System.getProperty("java.home"), "bin", "java");
        command.add(java.toString());
        command.addAll(options);
        command.add("-cp");
        command.add(System.getProperty("java.class.path"));
        command.add(main.getName());
        command.addAll(Arrays.asList(arguments));
        Process process = builder.command(command).redirectErrorStream(true).start();
        StringBuffer said = new StringBuffer();
        CompletableFuture<Long> lastLine = CompletableFuture.supplyAsync(() -> read(process, said));
        if (!process.waitFor(TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new AssertionError("it did not end; it said: " + said);
        }
        long now = System.nanoTime();
        Duration end = Duration.ofNanos(now - lastLine.get());
        return new Ended(process.exitValue(), said.toString(), end);
    }

    /** Takes all that it says; answers when the last line came. */
    private static long read(Process process, StringBuffer said) {
        long last = System.nanoTime();
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(process.getInputStream()))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                said.append(line).append('\n');
                last = System.nanoTime();
            }
            return last;
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** What a process has left. */
    static final class Ended {
        final int status;
        final String output;

        /** From its last line to its end. */
        final Duration end;

        Ended(int status, String output, Duration end) {
            this.status = status;
            this.output = output;
            this.end = end;
        }

        @Override
        public String toString() {
            return Map.of("status", status, "output", output, "end", end).toString();
        }
    }
}

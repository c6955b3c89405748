package io.github.flinkpubsub.connection;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** A program of the tests in a JVM of its own, with an environment of its own. */
final class ChildJvm {

    private static final List<String> WITHOUT_NETWORK =
            List.of("unshare", "-rn", "sh", "-c", "ip link set lo up && exec \"$@\"", "sh");

    private final ProcessBuilder builder;
    private final Path output;

    ChildJvm(Path directory, Class<?> main, List<String> jvmArguments, String... arguments) {
        output = directory.resolve("child.log");
        List<String> command = new ArrayList<>();
        command.add(Paths.get(System.getProperty("java.home"), "bin", "java").toString());
        // The native library, and what Flink needs to be opened.
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.add("-Djava.io.tmpdir=" + directory);
        command.addAll(jvmArguments);
        command.add("-cp");
        command.add(System.getProperty("java.class.path"));
        command.add(main.getName());
        command.addAll(List.of(arguments));
        builder = new ProcessBuilder(command);
        builder.redirectErrorStream(true).redirectOutput(output.toFile());
        builder.environment().remove("GOOGLE_APPLICATION_CREDENTIALS");
        builder.environment().put("HOME", directory.toString());
    }

    /** In a network that has nothing but its own loopback. */
    ChildJvm withoutNetwork() {
        builder.command().addAll(0, WITHOUT_NETWORK);
        return this;
    }

    /** Why that cannot be had here; empty when it can. */
    static Optional<String> networkCannotBeTaken() throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(WITHOUT_NETWORK);
        command.add("true");
        Process process;
        try {
            process = new ProcessBuilder(command).redirectErrorStream(true).start();
        } catch (IOException e) {
            return Optional.of(e.getMessage());
        }
        String printed =
                new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return process.waitFor() == 0 ? Optional.empty() : Optional.of(printed.trim());
    }

    ChildJvm env(String name, String value) {
        builder.environment().put(name, value);
        return this;
    }

    /** What it printed; fails unless it ends well within the time. */
    String run(long seconds) throws IOException, InterruptedException {
        Process process = builder.start();
        try {
            if (!process.waitFor(seconds, TimeUnit.SECONDS)) {
                throw new AssertionError("not done in time:\n" + Files.readString(output));
            }
        } finally {
            process.destroyForcibly();
        }
        String printed = Files.readString(output);
        if (process.exitValue() != 0) {
            throw new AssertionError(printed);
        }
        return printed;
    }
}

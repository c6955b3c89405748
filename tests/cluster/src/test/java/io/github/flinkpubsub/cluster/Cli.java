package io.github.flinkpubsub.cluster;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The distribution's command line tools, as a user types them. */
final class Cli {
    private static final Pattern JOB = Pattern.compile("submitted with JobID ([0-9a-f]{32})");
    private static final Pattern SAVEPOINT =
            Pattern.compile("Savepoint completed. Path: (?:file:)?(\\S+)");
    private static final int LIMIT_SECONDS = 120;

    private final Path home;
    private final Map<String, String> environment;
    private final Path logs;

    Cli(Path home, Map<String, String> environment, Path logs) {
        this.home = home;
        this.environment = environment;
        this.logs = logs;
    }

    /** {@code flink run}: waits for the job's end. */
    String run(String... arguments) throws IOException {
        return find(JOB, flink(concat("run", arguments)));
    }

    /** {@code flink run -d}: answers the id of the job, which runs on. */
    String runDetached(String... arguments) throws IOException {
        return find(JOB, flink(concat("run", concat("-d", arguments))));
    }

    /** {@code flink stop}: answers the savepoint's path. */
    String stop(String... arguments) throws IOException {
        return find(SAVEPOINT, flink(concat("stop", arguments)));
    }

    /** {@code sql-client.sh}: answers what it printed. */
    String sql(String... arguments) throws IOException {
        return execute("sql-client.sh", arguments);
    }

    /** {@code flink run -py}: answers what the program printed. */
    String python(Path modules, String... arguments) throws IOException {
        return execute(
                Map.of("PYTHONPATH", modules.toString()),
                "flink",
                concat(
                        "run",
                        concat("-pyclientexec", concat("python3", concat("-py", arguments)))));
    }

    /** {@code flink}: answers what it printed. */
    String flink(String... arguments) throws IOException {
        return execute("flink", arguments);
    }

    private String execute(String tool, String... arguments) throws IOException {
        return execute(Map.of(), tool, arguments);
    }

    private String execute(Map<String, String> variables, String tool, String... arguments)
            throws IOException {
        List<String> command =
                new ArrayList<>(List.of(home.resolve("bin").resolve(tool).toString()));
        command.addAll(Arrays.asList(arguments));
        Path out = Files.createTempFile(logs, tool + "-", ".out");
        ProcessBuilder builder =
                new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectInput(new File("/dev/null"))
                        .redirectOutput(out.toFile());
        builder.environment().putAll(environment);
        builder.environment().putAll(variables);
        Process process = builder.start();
        try {
            if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
                throw new IOException(
                        command
                                + " did not end in "
                                + LIMIT_SECONDS
                                + " s: "
                                + Files.readString(out));
            }
            String printed = Files.readString(out);
            if (process.exitValue() != 0) {
                throw new IOException(
                        command + " ended with " + process.exitValue() + ": " + printed);
            }
            return printed;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException(e);
        } finally {
            process.destroyForcibly();
        }
    }

    private static String find(Pattern pattern, String text) throws IOException {
        Matcher matcher = pattern.matcher(text);
        if (!matcher.find()) {
            throw new IOException("nothing like '" + pattern + "' in: " + text);
        }
        return matcher.group(1);
    }

    private static String[] concat(String first, String[] others) {
        List<String> all = new ArrayList<>(List.of(first));
        all.addAll(Arrays.asList(others));
        return all.toArray(new String[0]);
    }
}

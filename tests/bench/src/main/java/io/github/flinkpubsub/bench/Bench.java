package io.github.flinkpubsub.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;

/**
 * Measures our source and sink beside Google's Java client: one server process a workload, one
 * client process a run, the contenders in turn, so that a drift of the machine meets all of them.
 *
 * <p>Environment: {@code BENCH_MESSAGES} messages of a run (default: by contender), {@code
 * BENCH_ROUNDS} rounds (default 3), {@code BENCH_ONLY} a word that the name of a contender or
 * workload must contain, {@code BENCH_IN_FLIGHT_MIB} what publishers may have in flight (default:
 * the sink's).
 */
final class Bench {
    private static final int DEFAULT_ROUNDS = 3;

    /** The library that the build has just made. */
    private static final String NATIVE_PATH = "pubsub.native.path";

    private final String serverBinary;
    private final List<String> jvm;

    private Bench(String serverBinary) {
        this.serverBinary = serverBinary;
        this.jvm =
                List.of(
                        Paths.get(System.getProperty("java.home"), "bin", "java").toString(),
                        "-D" + NATIVE_PATH + "=" + System.getProperty(NATIVE_PATH),
                        "-Xmx2g",
                        "-XX:+UseG1GC",
                        "--add-opens=java.base/java.util=ALL-UNNAMED",
                        "--add-opens=java.base/java.lang=ALL-UNNAMED",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Client.class.getName());
    }

    /** Arguments: the server's binary, the file for the results. */
    public static void main(String[] args) throws Exception {
        Bench bench = new Bench(args[0]);
        Path file = Paths.get(args[1]);
        int rounds =
                Integer.parseInt(
                        System.getenv()
                                .getOrDefault("BENCH_ROUNDS", String.valueOf(DEFAULT_ROUNDS)));
        String messages = System.getenv("BENCH_MESSAGES");
        String only = System.getenv().getOrDefault("BENCH_ONLY", "");

        Results results = new Results();
        for (int round = 1; round <= rounds; round++) {
            for (Workload workload : Workload.values()) {
                try (Server server = Server.start(bench.serverBinary, workload)) {
                    for (Client.Kind kind : Client.Kind.values()) {
                        if (!kind.label.contains(only) && !workload.label.contains(only)) {
                            continue;
                        }
                        long count =
                                messages == null ? kind.defaultMessages : Long.parseLong(messages);
                        Reading reading =
                                bench.measure(kind, new Run(workload, count, server.endpoint));
                        results.add(kind, workload, reading);
                        System.err.printf(
                                "round %d/%d  %-22s %-10s %6.2f s, steady %.3f CPU-s per million%n",
                                round,
                                rounds,
                                kind.label,
                                workload.label,
                                reading.seconds,
                                reading.steadyCpuSecondsPerMillion);
                    }
                }
            }
        }
        System.out.print(results.table());
        results.write(file);
        System.out.println("Written to " + file);
    }

    private Reading measure(Client.Kind kind, Run run) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(jvm);
        command.addAll(
                List.of(
                        kind.name(),
                        run.workload.name(),
                        String.valueOf(run.messages),
                        run.endpoint));
        Process process =
                new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        Reading reading = null;
        try (BufferedReader out =
                new BufferedReader(
                        new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            String line;
            while ((line = out.readLine()) != null) {
                Reading decoded = Reading.decode(line);
                if (decoded != null) {
                    reading = decoded;
                } else {
                    System.err.println(line);
                }
            }
        }
        int status = process.waitFor();
        if (status != 0 || reading == null) {
            throw new IllegalStateException(
                    kind.label + " ended with status " + status + " and without a reading");
        }
        return reading;
    }
}

package io.github.flinkpubsub.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The server process of a run. It ends with this process, because its standard input closes then.
 */
final class Server implements AutoCloseable {
    private static final Pattern READY = Pattern.compile("listening on (127\\.0\\.0\\.1:\\d+)");

    final String endpoint;
    private final Process process;

    private Server(Process process, String endpoint) {
        this.process = process;
        this.endpoint = endpoint;
    }

    /**
     * Starts {@code pubsub-emulator bench}, which sends the workload's message for ever and takes
     * every publish.
     */
    static Server start(String binary, Workload workload) throws IOException {
        List<String> command =
                new ArrayList<>(
                        List.of(
                                binary,
                                "bench",
                                "--port",
                                "0",
                                "--exit-on-stdin-close",
                                "--payload-bytes",
                                String.valueOf(workload.payloadBytes),
                                "--attributes",
                                String.valueOf(workload.attributes.size())));
        Process process =
                new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        BufferedReader out =
                new BufferedReader(
                        new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        String line;
        while ((line = out.readLine()) != null) {
            Matcher ready = READY.matcher(line);
            if (ready.find()) {
                return new Server(process, ready.group(1));
            }
        }
        process.destroy();
        throw new IOException(String.join(" ", command) + " ended without saying where it listens");
    }

    @Override
    public void close() throws IOException {
        process.getOutputStream().close();
    }
}

package io.github.flinkpubsub.interop;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/**
 * The in-memory server of Google's Go client, {@code tests/pstest}. It ends when its standard input
 * closes.
 *
 * <p>It delivers one message a stream every 10 ms, and with ordering one message a key at a time,
 * after a look at all messages: too slow for many messages. So it serves unordered subscriptions
 * here, over many streams. The messages still have keys.
 */
final class Pstest implements PubSubServer {
    private static final String READY = "pstest listening on ";

    private final Process process;
    private final String endpoint;

    private Pstest(Process process, String endpoint) {
        this.process = process;
        this.endpoint = endpoint;
    }

    static Path binary() {
        return Paths.get(System.getProperty("pubsub.pstest"));
    }

    static boolean isBuilt() {
        return Files.isExecutable(binary());
    }

    static Pstest start() throws IOException {
        Process process =
                new ProcessBuilder(binary().toString())
                        .redirectError(ProcessBuilder.Redirect.INHERIT)
                        .start();
        BufferedReader out =
                new BufferedReader(
                        new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        String line = out.readLine();
        if (line == null || !line.startsWith(READY)) {
            process.destroy();
            throw new IOException(binary() + " said: " + line);
        }
        return new Pstest(process, line.substring(READY.length()));
    }

    @Override
    public String endpoint() {
        return endpoint;
    }

    @Override
    public boolean keepsOrder() {
        return false;
    }

    @Override
    public int streams() {
        return 64;
    }

    @Override
    public void close() {
        try {
            process.getOutputStream().close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

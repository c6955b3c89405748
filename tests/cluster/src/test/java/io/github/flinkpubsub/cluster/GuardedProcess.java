package io.github.flinkpubsub.cluster;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A process that ends at the latest with this JVM, however this one ends: a shell beside it kills
 * it when the pipe from here is closed. Output goes to a file.
 */
final class GuardedProcess implements AutoCloseable {
    private static final String GUARD =
            "\"$@\" >\"$LOG\" 2>&1 </dev/null & echo $!; read -r end; kill -KILL $! 2>/dev/null";

    private final Process guard;
    private final ProcessHandle handle;

    private GuardedProcess(Process guard, ProcessHandle handle) {
        this.guard = guard;
        this.handle = handle;
    }

    /** The command may be a script, if it becomes the program with {@code exec}. */
    static GuardedProcess start(List<String> command, Map<String, String> environment, Path log)
            throws IOException {
        List<String> guarded = new ArrayList<>(List.of("bash", "-c", GUARD, "guard"));
        guarded.addAll(command);
        ProcessBuilder builder =
                new ProcessBuilder(guarded).redirectError(new File(log + ".guard"));
        builder.environment().putAll(environment);
        builder.environment().put("LOG", log.toString());
        Process guard = builder.start();
        BufferedReader out =
                new BufferedReader(
                        new InputStreamReader(guard.getInputStream(), StandardCharsets.UTF_8));
        long pid = Long.parseLong(out.readLine());
        ProcessHandle handle =
                ProcessHandle.of(pid)
                        .orElseThrow(() -> new IOException(command + " ended, see " + log));
        return new GuardedProcess(guard, handle);
    }

    long pid() {
        return handle.pid();
    }

    boolean isAlive() {
        return handle.isAlive();
    }

    /** {@code kill -9}; answers when it is dead. */
    void kill() {
        handle.destroyForcibly();
        awaitEnd(Duration.ofSeconds(10));
    }

    /** Asks it to end, as stopping a cluster does; false when it does not within the time. */
    boolean terminate(Duration limit) {
        handle.destroy();
        return awaitEnd(limit);
    }

    private boolean awaitEnd(Duration limit) {
        try {
            handle.onExit().get(limit.toMillis(), TimeUnit.MILLISECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    @Override
    public void close() {
        handle.destroyForcibly();
        guard.destroyForcibly();
    }
}

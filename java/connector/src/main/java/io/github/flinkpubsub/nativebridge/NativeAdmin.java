package io.github.flinkpubsub.nativebridge;

import org.apache.flink.annotation.Internal;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Map;

/**
 * The {@link Admin} in the native library. Use after close throws {@link IllegalStateException}.
 */
@Internal
public final class NativeAdmin implements Admin {

    private final long handle;
    private final OpenClient client;
    private boolean closed;

    private NativeAdmin(OpenClient client) {
        this.client = client;
        handle = client.handle();
    }

    /**
     * Loads the library if need be; makes no call to the service.
     *
     * @throws IllegalArgumentException when an option is not understood; names it
     */
    public static NativeAdmin open(NativeOptions connection) throws IOException {
        return new NativeAdmin(OpenClient.openOutsideTasks(connection, AdminNatives::open));
    }

    @Override
    public Map<String, String> describeSubscription(String name) throws IOException {
        return NativeOptions.decode(AdminNatives.describeSubscription(handle, utf8(name)));
    }

    @Override
    public boolean createSubscription(String name, NativeOptions settings) throws IOException {
        return AdminNatives.createSubscription(handle, utf8(name), settings.encode());
    }

    @Override
    public boolean deleteSubscription(String name) throws IOException {
        return AdminNatives.deleteSubscription(handle, utf8(name));
    }

    @Override
    public void seek(String name, Instant time) throws IOException {
        AdminNatives.seekToTime(handle, utf8(name), time.getEpochSecond(), time.getNano());
    }

    @Override
    public void seekToSnapshot(String name, String snapshot) throws IOException {
        AdminNatives.seekToSnapshot(handle, utf8(name), utf8(snapshot));
    }

    @Override
    public Map<String, String> describeTopic(String name) throws IOException {
        return NativeOptions.decode(AdminNatives.describeTopic(handle, utf8(name)));
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            try {
                AdminNatives.close(handle);
            } finally {
                client.closed();
            }
        }
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}

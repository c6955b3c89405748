package io.github.flinkpubsub.nativebridge;

import io.github.flinkpubsub.NativePanicException;
import io.github.flinkpubsub.PubSubException;

import org.apache.flink.annotation.Internal;

import java.nio.charset.StandardCharsets;

import javax.annotation.Nullable;

/** The one place where the native library's failures become Java exceptions. */
@Internal
final class NativeErrors {

    private NativeErrors() {}

    /**
     * Called by the library, which throws what it is given.
     *
     * @param grpcCode the status by number
     * @param message UTF-8 text
     * @param resource UTF-8 name of the subscription or topic, null when the failure belongs to
     *     none
     * @param panic whether the library itself failed, rather than the service or the connection
     */
    static PubSubException create(
            int grpcCode, byte[] message, @Nullable byte[] resource, boolean panic) {
        String text = new String(message, StandardCharsets.UTF_8);
        String name = resource == null ? null : new String(resource, StandardCharsets.UTF_8);
        return panic
                ? new NativePanicException(name, text)
                : new PubSubException(PubSubException.Status.fromCode(grpcCode), name, text);
    }
}

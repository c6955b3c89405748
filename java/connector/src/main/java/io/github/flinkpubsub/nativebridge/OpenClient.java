package io.github.flinkpubsub.nativebridge;

import java.io.IOException;
import java.util.function.ToLongFunction;

/** The handle of a native client, and what is held for it until it is closed. */
final class OpenClient {

    private final long handle;
    private final TokenFeed.Lease tokens;
    private final boolean ofTask;

    private OpenClient(long handle, TokenFeed.Lease tokens, boolean ofTask) {
        this.handle = handle;
        this.tokens = tokens;
        this.ofTask = ofTask;
    }

    /**
     * Loads the library if need be and opens a client.
     *
     * @param open the native call
     * @throws IllegalArgumentException when an option or a setting is not understood; names it
     */
    static OpenClient open(NativeOptions options, ToLongFunction<byte[]> open) throws IOException {
        return open(options, open, true);
    }

    /** Opens a client that does not end with a job's tasks. */
    static OpenClient openOutsideTasks(NativeOptions options, ToLongFunction<byte[]> open)
            throws IOException {
        return open(options, open, false);
    }

    private static OpenClient open(
            NativeOptions options, ToLongFunction<byte[]> open, boolean ofTask) throws IOException {
        NativeLibrary.clientOpens(ofTask);
        try {
            TokenFeed.Lease tokens = TokenFeed.acquire(options);
            try {
                return new OpenClient(open.applyAsLong(options.encode()), tokens, ofTask);
            } catch (Throwable t) {
                tokens.release();
                throw t;
            }
        } catch (Throwable t) {
            NativeLibrary.clientClosed(ofTask);
            throw t;
        }
    }

    long handle() {
        return handle;
    }

    /** The client is closed, or has failed to. */
    void closed() {
        try {
            tokens.release();
        } finally {
            NativeLibrary.clientClosed(ofTask);
        }
    }
}

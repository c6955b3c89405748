package io.github.flinkpubsub.nativebridge;

import org.apache.flink.annotation.Internal;

/**
 * The entry points through which access tokens are handed over, registered by the library when it
 * is loaded. Their meaning is in {@code docs/boundary.md}.
 */
@Internal
final class TokenNatives {

    private TokenNatives() {}

    static native long open();

    static native void hand(long handle, byte[] token, long validMillis);

    static native void fail(long handle, byte[] why, boolean permanent);

    static native int await(long handle, long timeoutMillis);

    static native void close(long handle);
}

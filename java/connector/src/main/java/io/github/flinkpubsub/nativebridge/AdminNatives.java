package io.github.flinkpubsub.nativebridge;

import org.apache.flink.annotation.Internal;

/**
 * The entry points of the native admin client, registered by the library when it is loaded. Their
 * meaning and the form of texts and settings are in {@code docs/boundary.md}.
 */
@Internal
final class AdminNatives {

    private AdminNatives() {}

    static native long open(byte[] options);

    static native byte[] describeSubscription(long handle, byte[] name);

    static native boolean createSubscription(long handle, byte[] name, byte[] settings);

    static native boolean deleteSubscription(long handle, byte[] name);

    static native void seekToTime(long handle, byte[] name, long seconds, int nanos);

    static native void seekToSnapshot(long handle, byte[] name, byte[] snapshot);

    static native byte[] describeTopic(long handle, byte[] name);

    static native void close(long handle);
}

package io.github.flinkpubsub.nativebridge;

import org.apache.flink.annotation.Internal;

/**
 * The entry points of the native subscriber, registered by the library when it is loaded. Their
 * meaning, threads and array layouts are in {@code docs/boundary.md}; {@link NativeSubscriber} is
 * the way to call them.
 */
@Internal
final class SubscriberNatives {

    private SubscriberNatives() {}

    static native long open(byte[] options);

    static native int addSplit(long handle, byte[] subscription);

    static native void removeSplit(long handle, int split);

    static native void pause(long handle, int split, boolean paused);

    static native int poll(long handle, byte[] data, int[] index, long timeoutMillis, long[] out);

    static native void wakeUp(long handle);

    static native void snapshot(long handle, long checkpoint, int[] splits, long[] emitted);

    static native void complete(long handle, long checkpoint, boolean confirm);

    static native boolean confirmed(long handle, long timeoutMillis);

    static native void nack(long handle, int split, long sequence);

    static native void counters(long handle, long[] out);

    static native void leave(long handle, int split, long sequence);

    static native void close(long handle, long timeoutMillis, long[] out);
}

package io.github.flinkpubsub.nativebridge;

import org.apache.flink.annotation.Internal;

/**
 * The entry points of the native publisher, registered by the library when it is loaded. Their
 * meaning, threads and array layouts are in {@code docs/boundary.md}; {@link NativePublisher} is
 * the way to call them.
 */
@Internal
final class PublisherNatives {

    private PublisherNatives() {}

    static native long open(byte[] options);

    static native int topic(long handle, byte[] topic);

    static native void append(
            long handle,
            byte[] data,
            int length,
            int[] index,
            int count,
            long ageNanos,
            long[] out);

    static native void flush(long handle);

    static native void target(long handle, long messages, long bytes, long unwritten);

    static native int await(long handle, long timeoutMillis);

    static native void state(long handle, long[] out);

    static native byte[] takeFailure(long handle);

    static native void close(long handle, long timeoutMillis, long[] out);
}

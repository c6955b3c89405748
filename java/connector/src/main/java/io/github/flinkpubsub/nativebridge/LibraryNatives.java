package io.github.flinkpubsub.nativebridge;

import org.apache.flink.annotation.Internal;

/**
 * The entry points that concern the library as a whole. {@link #version} and {@link #bind} are
 * registered when the library is loaded, all others of all classes by {@link #bind}. Their meaning
 * is in {@code docs/boundary.md}; {@link NativeLibrary} is the way to call them.
 */
@Internal
final class LibraryNatives {

    private LibraryNatives() {}

    static native byte[] version();

    static native void bind();

    static native void configure(byte[] options);

    static native void stop();

    static native void abandon();

    static native byte[] logs(long timeoutMillis, int level);

    static native long memory();

    static native void panic(int place, long handle);
}

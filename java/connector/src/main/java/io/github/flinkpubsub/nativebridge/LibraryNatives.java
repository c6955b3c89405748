package io.github.flinkpubsub.nativebridge;

import org.apache.flink.annotation.Internal;

/**
 * The entry points that concern the library as a whole, registered by the library when it is
 * loaded.
 */
@Internal
final class LibraryNatives {

    private LibraryNatives() {}

    /** The library's version, UTF-8. */
    static native byte[] version();
}

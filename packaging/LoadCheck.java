import io.github.flinkpubsub.nativebridge.NativeLoader;

import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;

/** Loads the native library as a job does, and calls it. */
public final class LoadCheck {
    public static void main(String[] args) throws Exception {
        NativeLoader.load();
        Method version =
                Class.forName("io.github.flinkpubsub.nativebridge.LibraryNatives")
                        .getDeclaredMethod("version");
        version.setAccessible(true);
        System.out.printf(
                "loaded version %s on %s, Java %s%n",
                new String((byte[]) version.invoke(null), StandardCharsets.UTF_8),
                System.getProperty("os.arch"),
                System.getProperty("java.version"));
    }
}

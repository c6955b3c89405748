package io.github.flinkpubsub.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** File systems that do not take the library, each in a mount namespace of its own. */
@Tag("library")
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class NativeMountIT {

    @TempDir private Path dir;
    private Path mounted;

    /** The option of {@code unshare} for a namespace in which this process may mount. */
    private String namespace;

    @BeforeEach
    void mountPoint() throws Exception {
        mounted = Files.createDirectory(dir.resolve("mounted"));
        namespace = Stream.of("-rm", "-m").filter(NativeMountIT::mayMount).findFirst().orElse(null);
        if (namespace == null) {
            String message =
                    "this process may not mount (unshare of util-linux, and the right to use it)";
            // Not even root may in some containers, in CI neither.
            assumeTrue(false, "skipped: " + message);
        }
    }

    private static boolean mayMount(String namespace) {
        String[] command = {"unshare", namespace, "mount", "-t", "tmpfs", "tmpfs", "/mnt"};
        try {
            return new ProcessBuilder(command).redirectErrorStream(true).start().waitFor() == 0;
        } catch (IOException e) {
            return false;
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** A JVM that sees a file system with these options at {@link #mounted}. */
    private ChildJvm jvm(String options) {
        String mountAndRun = "mount -t tmpfs -o \"$0\" tmpfs \"$1\" && shift && exec \"$@\"";
        return new ChildJvm()
                .under("unshare", namespace, "sh", "-c", mountAndRun, options, mounted.toString());
    }

    private String directory() {
        return "-D" + NativeLoader.DIR_PROPERTY + "=" + mounted;
    }

    @Test
    void noExecution() throws Exception {
        ChildJvm.Ended ended = jvm("noexec").option(directory()).run(LoadMain.class);
        assertThat(ended.output)
                .contains("the native library cannot be used: tried ")
                .contains(" in " + mounted + ": what lies there may not be executed")
                .contains("set -Dpubsub.native.dir=<directory>");
    }

    @Test
    void noSpace() throws Exception {
        ChildJvm.Ended ended = jvm("size=1m").option(directory()).run(LoadMain.class);
        assertThat(ended.output)
                .contains(" in " + mounted + ": cannot write there: ")
                .contains("No space left on device")
                .contains("has 20 MB to spare")
                .contains("set -Dpubsub.native.dir=<directory>");
    }

    @Test
    void noWriting() throws Exception {
        ChildJvm.Ended ended = jvm("ro").option(directory()).run(LoadMain.class);
        assertThat(ended.output)
                .contains(" in " + mounted + ": cannot write there: ")
                .contains("Read-only file system")
                .contains("set -Dpubsub.native.dir=<directory>");
    }

    @Test
    void theNextOfFlinksDirectoriesDoes() throws Exception {
        Path next = Files.createDirectory(dir.resolve("next"));
        Path conf = Files.createDirectory(dir.resolve("conf"));
        Files.writeString(
                conf.resolve("config.yaml"), "io.tmp.dirs: " + mounted + "," + next + "\n");
        ChildJvm jvm =
                jvm("noexec")
                        .environment("FLINK_CONF_DIR", conf.toString())
                        .option("-Djava.io.tmpdir=" + dir.resolve("none"));
        ChildJvm.Ended ended = jvm.run(LoadMain.class);
        assertThat(ended.output).contains("loaded").doesNotContain("cannot be used");
        assertThat(next).isEmptyDirectory();
    }
}

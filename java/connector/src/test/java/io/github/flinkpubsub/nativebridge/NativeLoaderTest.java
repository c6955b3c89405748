package io.github.flinkpubsub.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.PubSubException.Status;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.CoreOptions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * What happens when the library cannot be loaded; that it can is shown by the integration tests.
 */
class NativeLoaderTest {

    private static final String TMPDIR = "java.io.tmpdir";

    @TempDir private Path dir;

    private final String tmpdir = System.getProperty(TMPDIR);

    @AfterEach
    void restore() {
        System.clearProperty(NativeLoader.PATH_PROPERTY);
        System.clearProperty(NativeLoader.DIR_PROPERTY);
        System.setProperty(TMPDIR, tmpdir);
    }

    private static PubSubException failure(Configuration flink) {
        try {
            NativeLoader.load(flink);
        } catch (PubSubException e) {
            assertThat(e.status()).isEqualTo(Status.FAILED_PRECONDITION);
            assertThat(e).hasMessageContaining("the native library cannot be used: ");
            return e;
        }
        throw new AssertionError("it loaded");
    }

    private Path fileThatIsNoLibrary() throws Exception {
        Path file = Files.writeString(dir.resolve("broken.so"), "not a library, but long enough");
        System.setProperty(NativeLoader.PATH_PROPERTY, file.toString());
        return file;
    }

    private void assertNothingLeft() throws Exception {
        try (Stream<Path> left = Files.list(dir)) {
            assertThat(left.filter(path -> Files.isDirectory(path))).isEmpty();
        }
    }

    @Test
    void aPathThatIsNoFile() throws Exception {
        System.setProperty(NativeLoader.DIR_PROPERTY, dir.toString());
        System.setProperty(NativeLoader.PATH_PROPERTY, dir.resolve("none.so").toString());
        assertThat(failure(null))
                .hasMessageContaining(
                        "pubsub.native.path names " + dir.resolve("none.so") + ", which is not a")
                .hasMessageContaining("remove the setting");
        assertNothingLeft();
    }

    @Test
    void aFileThatIsNoLibrary() throws Exception {
        Path file = fileThatIsNoLibrary();
        System.setProperty(NativeLoader.DIR_PROPERTY, dir.toString());
        assertThat(failure(null))
                .hasMessageContaining("tried " + file + " in " + dir)
                .hasMessageContaining("it is not a library for Linux")
                .hasMessageContaining("-Dpubsub.native.path=<file>");
        assertNothingLeft();
    }

    @Test
    void aDirectoryThatIsNotThereIsNotReplacedByAnother() throws Exception {
        fileThatIsNoLibrary();
        Path none = dir.resolve("none");
        System.setProperty(NativeLoader.DIR_PROPERTY, none.toString());
        assertThat(failure(null))
                .hasMessageContaining(" in " + none + ": cannot write there: ")
                .hasMessageContaining("NoSuchFileException")
                .hasMessageContaining("set -Dpubsub.native.dir=<directory>")
                .hasMessageNotContaining("; tried");
    }

    @Test
    void flinksDirectoriesAreTriedInOrderAndThenTheJvms() throws Exception {
        fileThatIsNoLibrary();
        Configuration flink = new Configuration();
        flink.set(CoreOptions.TMP_DIRS, dir.resolve("first") + ", " + dir.resolve("second"));
        System.setProperty(TMPDIR, dir.resolve("third").toString());
        String message = failure(flink).getMessage();
        int first = message.indexOf(" in " + dir.resolve("first") + ": cannot write");
        int second = message.indexOf(" in " + dir.resolve("second") + ": cannot write");
        int third = message.indexOf(" in " + dir.resolve("third") + ": cannot write");
        assertThat(first).as(message).isPositive();
        assertThat(second).as(message).isGreaterThan(first);
        assertThat(third).as(message).isGreaterThan(second);
    }

    @Test
    void whatIsWrongWithTheLibraryIsNotTriedElsewhere() throws Exception {
        fileThatIsNoLibrary();
        Configuration flink = new Configuration();
        flink.set(CoreOptions.TMP_DIRS, dir.resolve("none") + "," + dir);
        assertThat(failure(flink))
                .hasMessageContaining(" in " + dir.resolve("none") + ": cannot write")
                .hasMessageContaining(" in " + dir + ": it is not a library")
                .hasMessageNotContaining(" in " + tmpdir + ":");
    }

    @Test
    void aJarWithoutThisMachinesLibrary() {
        System.setProperty(NativeLoader.DIR_PROPERTY, dir.toString());
        assertThat(failure(null))
                .hasMessageContaining("this jar has none for " + Platform.current().name())
                .hasMessageContaining("use the release jar")
                .hasMessageContaining("-Dpubsub.native.path=<file>");
    }

    @Test
    void aSystemWithoutLibraries() {
        String os = System.getProperty("os.name");
        System.setProperty("os.name", "Mac OS X");
        try {
            assertThat(failure(null))
                    .hasMessageContaining("there is none for macos-")
                    .hasMessageContaining("linux-x86_64 and linux-aarch64 only")
                    .hasMessageContaining("cargo build --release -p pubsub-flink")
                    .hasMessageContaining("-Dpubsub.native.path=<file>");
        } finally {
            System.setProperty("os.name", os);
        }
    }

    @Test
    void theVersionIsTheBuilds() throws Exception {
        assertThat(NativeLoader.jarVersion()).matches("[0-9]+\\.[0-9]+\\.[0-9]+.*");
    }

    @Test
    void aClientThatCannotBeOpenedSaysWhy() {
        assertThatThrownBy(() -> NativeSubscriber.open(new NativeOptions()))
                .isInstanceOf(PubSubException.class)
                .hasMessageContaining("the native library cannot be used");
        assertThat(NativeLibrary.memory()).isZero();
    }
}

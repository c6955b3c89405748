package io.github.flinkpubsub.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.PubSubException.Status;

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

    @TempDir private Path dir;

    @AfterEach
    void restore() {
        System.clearProperty(NativeLoader.PATH_PROPERTY);
        System.clearProperty(NativeLoader.DIR_PROPERTY);
    }

    private PubSubException failure() {
        try {
            NativeLoader.load();
        } catch (PubSubException e) {
            return e;
        }
        throw new AssertionError("it loaded");
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
        PubSubException e = failure();
        assertThat(e.status()).isEqualTo(Status.FAILED_PRECONDITION);
        assertThat(e).hasMessageContaining("pubsub.native.path names " + dir.resolve("none.so"));
        assertNothingLeft();
    }

    @Test
    void aFileThatIsNoLibrary() throws Exception {
        Path file = Files.writeString(dir.resolve("broken.so"), "not a library");
        System.setProperty(NativeLoader.DIR_PROPERTY, dir.toString());
        System.setProperty(NativeLoader.PATH_PROPERTY, file.toString());
        assertThat(failure())
                .hasMessageContaining("cannot load " + dir)
                .hasMessageContaining("set -Dpubsub.native.dir=<directory>")
                .hasCauseInstanceOf(UnsatisfiedLinkError.class);
        assertNothingLeft();
    }

    @Test
    void aDirectoryThatIsNotThere() {
        System.setProperty(NativeLoader.DIR_PROPERTY, dir.resolve("none").toString());
        assertThat(failure())
                .hasMessageContaining("cannot create a directory in " + dir.resolve("none"))
                .hasMessageContaining("pubsub.native.dir");
    }

    @Test
    void aJarWithoutThisMachinesLibrary() throws Exception {
        System.setProperty(NativeLoader.DIR_PROPERTY, dir.toString());
        assertThat(failure())
                .hasMessageContaining("the jar has no library for this machine: /native/")
                .hasMessageContaining("-Dpubsub.native.path=<file>");
        assertNothingLeft();
    }

    @Test
    void theVersionIsTheBuilds() throws Exception {
        assertThat(NativeLoader.jarVersion()).matches("[0-9]+\\.[0-9]+\\.[0-9]+.*");
    }

    @Test
    void thePlatformIsNamedAsInTheJar() {
        assertThat(NativeLoader.platform()).matches("(linux|macos|windows.*)-[a-z0-9_]+");
        assertThatThrownBy(() -> NativeSubscriber.open(new NativeOptions()))
                .isInstanceOf(PubSubException.class);
    }
}

package io.github.flinkpubsub.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

class PrivateCopyTest {

    private static final String NAME = "libpubsub_flink.so";

    @TempDir private Path dir;

    private List<Path> left() throws IOException {
        try (Stream<Path> all = Files.list(dir)) {
            return all.collect(Collectors.toList());
        }
    }

    private Path directory(String name, Duration age) throws IOException {
        Path directory = Files.createDirectory(dir.resolve(name));
        Files.writeString(directory.resolve(NAME), "x");
        Files.writeString(directory.resolve(NAME + ".part"), "x");
        Files.setLastModifiedTime(directory, FileTime.from(Instant.now().minus(age)));
        return directory;
    }

    /** The number of a process that there was. */
    private static long deadProcess() throws Exception {
        Process process = new ProcessBuilder("true").start();
        process.waitFor();
        return process.pid();
    }

    @Test
    void onlyItsOwnerCanEnterAndNothingIsLeft() throws Exception {
        try (PrivateCopy copy = PrivateCopy.in(dir, NAME)) {
            Path directory = copy.library().getParent();
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(directory)))
                    .isEqualTo("rwx------");
            assertThat(directory.getFileName().toString())
                    .startsWith("pubsub-flink-" + ProcessHandle.current().pid() + "-");
            copy.write(new ByteArrayInputStream("bytes".getBytes(StandardCharsets.UTF_8)));
            assertThat(Files.readString(copy.library())).isEqualTo("bytes");
            assertThat(copy.library().resolveSibling(NAME + ".part")).doesNotExist();
        }
        assertThat(left()).isEmpty();
    }

    @Test
    void whatIsNotWholeHasNotTheName() throws Exception {
        try (PrivateCopy copy = PrivateCopy.in(dir, NAME)) {
            InputStream broken =
                    new InputStream() {
                        @Override
                        public int read() throws IOException {
                            throw new IOException("No space left on device");
                        }
                    };
            assertThatThrownBy(() -> copy.write(broken)).isInstanceOf(IOException.class);
            assertThat(copy.library()).doesNotExist();
        }
        assertThat(left()).isEmpty();
    }

    @Test
    void aBaseThatIsNoDirectoryIsRefused() throws Exception {
        Path file = Files.writeString(dir.resolve("file"), "");
        assertThatThrownBy(() -> PrivateCopy.in(file, NAME))
                .isInstanceOf(IOException.class)
                .isNotInstanceOf(NotDirectoryException.class);
    }

    @Test
    void copiesOfDeadProcessesAreSwept() throws Exception {
        Duration old = Duration.ofMinutes(11);
        long dead = deadProcess();
        long alive = ProcessHandle.current().pid();
        Path stale = directory("pubsub-flink-" + dead + "-1", old);
        Path young = directory("pubsub-flink-" + dead + "-2", Duration.ofMinutes(9));
        Path loading = directory("pubsub-flink-" + alive + "-3", Duration.ZERO);
        // A process of the same number, before this one.
        Path before = directory("pubsub-flink-" + alive + "-4", Duration.ofDays(400));
        Path other = directory("pubsub-flink-other", old);
        Path foreign = directory("pubsub-flink-" + dead + "-5", old);
        Files.writeString(foreign.resolve("not ours"), "");
        Files.setLastModifiedTime(foreign, FileTime.from(Instant.now().minus(old)));

        PrivateCopy.sweep(dir, NAME, Instant.now());
        assertThat(stale).doesNotExist();
        assertThat(before).doesNotExist();
        assertThat(young).isDirectory();
        assertThat(loading).isDirectory();
        assertThat(other.resolve(NAME)).exists();
        assertThat(foreign.resolve("not ours")).exists();
    }

    @Test
    void aLinkIsNotFollowed() throws Exception {
        Path target = directory("target", Duration.ofDays(1));
        Path link = dir.resolve("pubsub-flink-" + deadProcess() + "-1");
        Files.createSymbolicLink(link, target);
        PrivateCopy.sweep(dir, NAME, Instant.now());
        assertThat(target.resolve(NAME)).exists();
    }
}

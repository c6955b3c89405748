package io.github.flinkpubsub.nativebridge;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.Closeable;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A copy of the library in a directory of its own, which only this user can enter: what is loaded
 * cannot be exchanged by somebody else. Closing removes it; on Linux a loaded library needs no
 * file.
 */
final class PrivateCopy implements Closeable {

    private static final Logger LOG = LoggerFactory.getLogger(PrivateCopy.class);

    private static final String PREFIX = "pubsub-flink-";
    private static final Pattern NAME = Pattern.compile(PREFIX + "([0-9]{1,18})-.*");

    /** Processes of other containers cannot be seen, but none needs so long to load a library. */
    private static final Duration STALE = Duration.ofMinutes(10);

    private static final String UNFINISHED = ".part";

    private final Path directory;
    private final Path library;

    private PrivateCopy(Path directory, String name) {
        this.directory = directory;
        this.library = directory.resolve(name);
    }

    /** Makes a directory in {@code base} for a library of this name, and removes stale ones. */
    static PrivateCopy in(Path base, String name) throws IOException {
        sweep(base, name, Instant.now());
        FileAttribute<?>[] ownerOnly =
                FileSystems.getDefault().supportedFileAttributeViews().contains("posix")
                        ? new FileAttribute<?>[] {
                            PosixFilePermissions.asFileAttribute(
                                    PosixFilePermissions.fromString("rwx------"))
                        }
                        : new FileAttribute<?>[0];
        String prefix = PREFIX + ProcessHandle.current().pid() + "-";
        return new PrivateCopy(Files.createTempDirectory(base, prefix, ownerOnly), name);
    }

    /** The library, once it is written. */
    Path library() {
        return library;
    }

    /** Writes, then renames: under its name there is a whole library or none. */
    void write(InputStream in) throws IOException {
        Path unfinished = unfinished(library);
        // Not a channel: an interrupt of the loading thread must not cut the copy.
        try (OutputStream out = new FileOutputStream(unfinished.toFile())) {
            in.transferTo(out);
        }
        Files.move(unfinished, library, StandardCopyOption.ATOMIC_MOVE);
    }

    @Override
    public void close() {
        try {
            remove(directory, library);
        } catch (IOException e) {
            LOG.debug("Leaving {}, which a later process removes", directory, e);
        }
    }

    /** Removes what processes left that were killed while they loaded. */
    static void sweep(Path base, String name, Instant now) {
        try (DirectoryStream<Path> directories = Files.newDirectoryStream(base, PREFIX + "*")) {
            for (Path directory : directories) {
                sweepOne(directory, name, now);
            }
        } catch (IOException | RuntimeException e) {
            LOG.debug("Stale copies of the library in {} cannot be found", base, e);
        }
    }

    private static void sweepOne(Path directory, String name, Instant now) {
        try {
            if (isStale(directory, now)) {
                remove(directory, directory.resolve(name));
                LOG.info("Removed {}, which a process that is gone has left", directory);
            }
        } catch (IOException | RuntimeException e) {
            // It is somebody else's, or somebody else removes it at the same time.
            LOG.debug("{} cannot be removed", directory, e);
        }
    }

    private static boolean isStale(Path directory, Instant now) throws IOException {
        Matcher name = NAME.matcher(directory.getFileName().toString());
        if (!name.matches() || !Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
            return false;
        }
        Instant made = Files.getLastModifiedTime(directory, LinkOption.NOFOLLOW_LINKS).toInstant();
        if (made.plus(STALE).isAfter(now)) {
            return false;
        }
        // In a container that is started again, processes have the numbers that they had before.
        return ProcessHandle.of(Long.parseLong(name.group(1)))
                .flatMap(process -> process.info().startInstant())
                .map(started -> started.isAfter(made))
                .orElse(true);
    }

    private static void remove(Path directory, Path library) throws IOException {
        Files.deleteIfExists(unfinished(library));
        Files.deleteIfExists(library);
        Files.deleteIfExists(directory);
    }

    private static Path unfinished(Path library) {
        return library.resolveSibling(library.getFileName() + UNFINISHED);
    }
}

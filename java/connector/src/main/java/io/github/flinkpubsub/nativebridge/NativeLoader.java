package io.github.flinkpubsub.nativebridge;

import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.PubSubException.Status;

import org.apache.flink.annotation.Internal;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Locale;
import java.util.Properties;

import javax.annotation.Nullable;

/**
 * Loads the native library, once per class loader.
 *
 * <p>The JVM binds a library file to one class loader, and a session cluster has many: each gets a
 * copy of its own, in a directory that only this user can read and that is removed as soon as the
 * library is loaded. System properties:
 *
 * <ul>
 *   <li>{@code pubsub.native.path}: a library file to use instead of the one in the jar
 *   <li>{@code pubsub.native.dir}: where the copies are made instead of {@code java.io.tmpdir}; it
 *       must be writable and allow execution
 * </ul>
 *
 * <p>Any thread may call {@link #load()}, any number of times; after a failure the next call tries
 * again. The library finds its Java peers through the class that loads it, which is this one.
 */
@Internal
public final class NativeLoader {

    /** System property: a library file to use instead of the one in the jar. */
    public static final String PATH_PROPERTY = "pubsub.native.path";

    /** System property: where the library is unpacked. */
    public static final String DIR_PROPERTY = "pubsub.native.dir";

    private static final Logger LOG = LoggerFactory.getLogger(NativeLoader.class);

    private static boolean loaded;

    private NativeLoader() {}

    /**
     * Loads the library unless it is loaded.
     *
     * @throws PubSubException when it cannot be; the message names what was tried and the setting
     *     that helps
     */
    public static synchronized void load() throws PubSubException {
        if (loaded) {
            return;
        }
        String name = System.mapLibraryName("pubsub_flink");
        String configured = System.getProperty(PATH_PROPERTY);
        Path directory = createDirectory(System.getProperty(DIR_PROPERTY));
        try {
            Path library = directory.resolve(name);
            if (configured != null) {
                copyFile(configured, library);
            } else {
                copyResource("/native/" + platform() + "/" + name, library);
            }
            link(library);
        } finally {
            remove(directory, name);
        }
        checkVersion();
        loaded = true;
    }

    /** The folder of this machine's library in the jar, such as {@code linux-x86_64}. */
    static String platform() {
        String os = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        String arch = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
        String osName = os.startsWith("mac") ? "macos" : os.startsWith("win") ? "windows" : os;
        return osName + "-" + (arch.equals("amd64") ? "x86_64" : arch);
    }

    private static Path createDirectory(@Nullable String configured) throws PubSubException {
        String base = configured != null ? configured : System.getProperty("java.io.tmpdir");
        FileAttribute<?>[] ownerOnly =
                FileSystems.getDefault().supportedFileAttributeViews().contains("posix")
                        ? new FileAttribute<?>[] {
                            PosixFilePermissions.asFileAttribute(
                                    PosixFilePermissions.fromString("rwx------"))
                        }
                        : new FileAttribute<?>[0];
        try {
            return Files.createTempDirectory(Paths.get(base), "pubsub-flink-", ownerOnly);
        } catch (IOException | RuntimeException e) {
            throw failure("cannot create a directory in " + base + ": " + e, dirAdvice(), e);
        }
    }

    private static void copyFile(String configured, Path library) throws PubSubException {
        File file = new File(configured);
        if (!file.isFile()) {
            throw failure(
                    PATH_PROPERTY + " names " + configured + ", which is not a file",
                    "name the library file, or remove the setting to use the one in the jar",
                    null);
        }
        try (InputStream in = Files.newInputStream(file.toPath())) {
            write(in, library);
        } catch (IOException e) {
            throw failure(
                    "cannot copy " + configured + " to " + library + ": " + e, dirAdvice(), e);
        }
    }

    private static void copyResource(String resource, Path library) throws PubSubException {
        try (InputStream in = NativeLoader.class.getResourceAsStream(resource)) {
            if (in == null) {
                throw failure(
                        "the jar has no library for this machine: " + resource,
                        "name one built for it with -D" + PATH_PROPERTY + "=<file>",
                        null);
            }
            write(in, library);
        } catch (PubSubException e) {
            throw e;
        } catch (IOException e) {
            throw failure(
                    "cannot unpack " + resource + " to " + library + ": " + e, dirAdvice(), e);
        }
    }

    private static void write(InputStream in, Path library) throws IOException {
        Path unfinished = library.resolveSibling(library.getFileName() + ".part");
        // Not a channel: an interrupt of the loading thread must not cut the copy.
        try (OutputStream out = new FileOutputStream(unfinished.toFile())) {
            in.transferTo(out);
        }
        Files.move(unfinished, library, StandardCopyOption.ATOMIC_MOVE);
    }

    private static void link(Path library) throws PubSubException {
        try {
            System.load(library.toAbsolutePath().toString());
        } catch (UnsatisfiedLinkError e) {
            throw failure("cannot load " + library + ": " + e.getMessage(), dirAdvice(), e);
        }
    }

    private static void checkVersion() throws PubSubException {
        String library = new String(LibraryNatives.version(), StandardCharsets.UTF_8);
        String jar = jarVersion();
        if (!library.equals(jar)) {
            throw failure(
                    "it has version " + library + " but the jar has version " + jar,
                    "remove the setting " + PATH_PROPERTY + ", or name a library of that version",
                    null);
        }
    }

    static String jarVersion() throws PubSubException {
        Properties properties = new Properties();
        try (InputStream in = NativeLoader.class.getResourceAsStream("version.properties")) {
            properties.load(in);
        } catch (IOException | RuntimeException e) {
            throw failure("version.properties is missing: " + e, "use the jar as it was built", e);
        }
        return properties.getProperty("version");
    }

    private static String dirAdvice() {
        return "set -D"
                + DIR_PROPERTY
                + "=<directory> (on Flink in env.java.opts.all) to a directory that is writable"
                + " and not mounted noexec, or name a library for this machine with -D"
                + PATH_PROPERTY
                + "=<file>";
    }

    private static PubSubException failure(String what, String advice, @Nullable Throwable cause) {
        return new PubSubException(
                Status.FAILED_PRECONDITION,
                null,
                "the native library cannot be used: " + what + "; " + advice,
                cause);
    }

    /** A loaded library stays usable without its file, except where the system locks it. */
    private static void remove(Path directory, String name) {
        for (Path path :
                new Path[] {
                    directory.resolve(name + ".part"), directory.resolve(name), directory
                }) {
            try {
                Files.deleteIfExists(path);
            } catch (IOException e) {
                LOG.debug("Leaving {} for the end of the process", path, e);
                path.toFile().deleteOnExit();
            }
        }
    }
}

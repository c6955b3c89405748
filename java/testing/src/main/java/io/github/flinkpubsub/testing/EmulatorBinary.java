package io.github.flinkpubsub.testing;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Locale;

/** Finds the server's binary. */
final class EmulatorBinary {
    private static final String NAME = "pubsub-emulator";

    /** Unpacked once per class loader, and used by all servers that it starts. */
    private static Path unpacked;

    private EmulatorBinary() {}

    /** What to start: the configured file, or else the one in the jar, or else of the PATH. */
    static synchronized String find() throws IOException {
        String configured = System.getProperty(PubSubEmulator.BINARY_PROPERTY);
        if (configured != null) {
            return configured;
        }
        if (unpacked == null || !Files.exists(unpacked)) {
            unpacked = unpack();
        }
        return unpacked == null ? NAME : unpacked.toString();
    }

    /** The folder of this machine's binary in the jar, such as {@code linux-x86_64}. */
    static String platform() {
        String os = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        String arch = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
        String osName = os.startsWith("mac") ? "macos" : os.startsWith("win") ? "windows" : os;
        return osName + "-" + (arch.equals("amd64") ? "x86_64" : arch);
    }

    private static Path unpack() throws IOException {
        String resource = "/emulator/" + platform() + "/" + NAME;
        try (InputStream in = EmulatorBinary.class.getResourceAsStream(resource)) {
            if (in == null) {
                return null;
            }
            Path directory = createDirectory();
            Path binary = directory.resolve(NAME);
            // The last one registered is deleted first: the file before its directory.
            directory.toFile().deleteOnExit();
            binary.toFile().deleteOnExit();
            Files.copy(in, binary);
            if (!binary.toFile().setExecutable(true, true)) {
                throw new IOException("cannot make " + binary + " executable");
            }
            return binary;
        } catch (IOException e) {
            throw new IOException(
                    "cannot unpack the server: "
                            + e
                            + "; -D"
                            + PubSubEmulator.DIR_PROPERTY
                            + "=<directory> names a place that is writable and allows execution",
                    e);
        }
    }

    private static Path createDirectory() throws IOException {
        Path base =
                Paths.get(
                        System.getProperty(
                                PubSubEmulator.DIR_PROPERTY, System.getProperty("java.io.tmpdir")));
        FileAttribute<?>[] ownerOnly =
                FileSystems.getDefault().supportedFileAttributeViews().contains("posix")
                        ? new FileAttribute<?>[] {
                            PosixFilePermissions.asFileAttribute(
                                    PosixFilePermissions.fromString("rwx------"))
                        }
                        : new FileAttribute<?>[0];
        return Files.createTempDirectory(base, NAME + "-", ownerOnly);
    }
}

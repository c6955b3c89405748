package io.github.flinkpubsub.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Where the server's binary comes from. */
@Tag("integration")
class PubSubEmulatorIT {
    private final String configured = System.getProperty(PubSubEmulator.BINARY_PROPERTY);

    @TempDir private Path dir;

    @AfterEach
    void restore() {
        System.setProperty(PubSubEmulator.BINARY_PROPERTY, configured);
        System.clearProperty(PubSubEmulator.DIR_PROPERTY);
    }

    @Test
    void theJarBringsItsServerAndCleansUp() throws Exception {
        Process user =
                new ProcessBuilder(
                                Paths.get(System.getProperty("java.home"), "bin", "java")
                                        .toString(),
                                "-D" + PubSubEmulator.DIR_PROPERTY + "=" + dir,
                                "-cp",
                                System.getProperty("java.class.path"),
                                User.class.getName())
                        .redirectErrorStream(true)
                        .start();
        String said = new String(user.getInputStream().readAllBytes()).trim();
        assertThat(user.waitFor(1, TimeUnit.MINUTES)).isTrue();
        assertThat(said).isEqualTo("hello, 1 unpacked, rwx------");
        assertThat(dir).isEmptyDirectory();
    }

    /** A test of a user, in a JVM of its own. */
    static final class User {
        private User() {}

        public static void main(String[] args) throws Exception {
            Path dir = Paths.get(System.getProperty(PubSubEmulator.DIR_PROPERTY));
            try (PubSubEmulator first = PubSubEmulator.start();
                    PubSubEmulator second = PubSubEmulator.start()) {
                first.createTopic("projects/p/topics/first");
                second.createTopic("projects/p/topics/orders");
                second.createSubscription(
                        "projects/p/subscriptions/orders", "projects/p/topics/orders");
                second.publish("projects/p/topics/orders", "hello");
                String text =
                        second.receive("projects/p/subscriptions/orders", 1, 10_000)
                                .get(0)
                                .getData()
                                .toStringUtf8();
                try (Stream<Path> files = Files.list(dir)) {
                    List<Path> unpacked = files.collect(Collectors.toList());
                    String permissions =
                            PosixFilePermissions.toString(
                                    Files.getPosixFilePermissions(unpacked.get(0)));
                    System.out.println(text + ", " + unpacked.size() + " unpacked, " + permissions);
                }
            }
        }
    }

    @Test
    void aPlaceThatIsNotThereIsNamed() {
        System.clearProperty(PubSubEmulator.BINARY_PROPERTY);
        System.setProperty(PubSubEmulator.DIR_PROPERTY, dir.resolve("none").toString());
        assertThatThrownBy(PubSubEmulator::start)
                .isInstanceOf(IOException.class)
                .hasMessageContaining(dir.resolve("none").toString())
                .hasMessageContaining("-Dpubsub.emulator.dir");
    }

    @Test
    void aBinaryThatIsNotThereIsNamed() {
        System.setProperty(PubSubEmulator.BINARY_PROPERTY, dir.resolve("none").toString());
        assertThatThrownBy(PubSubEmulator::start)
                .isInstanceOf(IOException.class)
                .hasMessageContaining("cannot start " + dir.resolve("none"))
                .hasMessageContaining("-Dpubsub.emulator=<file>");
    }

    @Test
    void aServerThatRefusesItsArgumentsIsNoServer() {
        assertThatThrownBy(() -> PubSubEmulator.start("--ack-id-bytes", "1"))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("ended before it listened");
    }

    @Test
    void theServerEndsWithClose() throws Exception {
        PubSubEmulator emulator = PubSubEmulator.start();
        EmulatorControl control = emulator.control();
        assertThat(control.calls()).containsEntry("Publish", 0L);
        emulator.close();
        assertThatThrownBy(control::calls)
                .isInstanceOf(EmulatorException.class)
                .hasMessageContaining("does not answer");
    }
}

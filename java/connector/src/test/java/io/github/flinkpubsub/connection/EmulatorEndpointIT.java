package io.github.flinkpubsub.connection;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.flinkpubsub.testing.PubSubEmulator;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

/** A job with {@code emulatorEndpoint}, in an environment that points everywhere else. */
@Tag("integration")
@Tag("flink2")
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class EmulatorEndpointIT {

    /** Counts who comes. */
    private static final class Trap implements AutoCloseable {

        private final ServerSocket socket =
                new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        private final AtomicInteger visitors = new AtomicInteger();

        Trap() throws IOException {
            Thread thread = new Thread(this::accept, "trap");
            thread.setDaemon(true);
            thread.start();
        }

        private void accept() {
            try {
                while (true) {
                    Socket visitor = socket.accept();
                    visitors.incrementAndGet();
                    visitor.close();
                }
            } catch (SocketException e) {
                // Closed.
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }

        String address() {
            return "127.0.0.1:" + socket.getLocalPort();
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }

    @Test
    void onlyTheEmulatorIsContacted(@TempDir Path dir) throws Exception {
        Optional<String> why = ChildJvm.networkCannotBeTaken();
        if (why.isEmpty()) {
            new ChildJvm(dir, Alone.class, List.of(), dir.toString()).withoutNetwork().run(100);
            return;
        }
        // Not even root may in some containers, in CI neither.
        System.out.println("skipping that it needs no network but loopback: " + why.get());
        onlyTheEmulatorIsContactedHere(dir);
    }

    /** The same where there is no other network. */
    static final class Alone {

        private Alone() {}

        public static void main(String[] arguments) throws Exception {
            assertThat(Collections.list(NetworkInterface.getNetworkInterfaces()))
                    .extracting(NetworkInterface::getName)
                    .containsExactly("lo");
            Path inner = Path.of(arguments[0]).resolve("inner");
            Files.createDirectories(inner);
            onlyTheEmulatorIsContactedHere(inner);
        }
    }

    private static void onlyTheEmulatorIsContactedHere(Path dir) throws Exception {
        try (PubSubEmulator server = PubSubEmulator.start("--record");
                Trap otherEmulator = new Trap();
                Trap metadata = new Trap();
                Trap proxy = new Trap()) {
            server.createTopic(SecureServer.INPUT);
            server.createSubscription(SecureServer.INPUT_SUB, SecureServer.INPUT);
            server.createTopic(SecureServer.OUTPUT);
            server.createSubscription(SecureServer.OUTPUT_SUB, SecureServer.OUTPUT);
            server.publish(SecureServer.INPUT, "one", "two");
            int before = server.control().requests().size();
            new ChildJvm(dir, Job.class, List.of(), server.endpoint())
                    .env("PUBSUB_EMULATOR_HOST", otherEmulator.address())
                    .env("GCE_METADATA_HOST", metadata.address())
                    .env("HTTPS_PROXY", "http://" + proxy.address())
                    .env("HTTP_PROXY", "http://" + proxy.address())
                    .env("ALL_PROXY", "http://" + proxy.address())
                    .run(90);
            assertThat(server.receive(SecureServer.OUTPUT_SUB, 2, 10_000))
                    .extracting(message -> message.getData().toStringUtf8())
                    .containsExactlyInAnyOrder("one", "two");
            assertThat(otherEmulator.visitors).hasValue(0);
            assertThat(metadata.visitors).hasValue(0);
            assertThat(proxy.visitors).hasValue(0);
            assertThat(
                            server.control().requests().stream()
                                    .skip(before)
                                    .filter(request -> !request.headers().isEmpty())
                                    .collect(Collectors.toList()))
                    .isNotEmpty()
                    .allSatisfy(
                            request ->
                                    assertThat(request.headers())
                                            .doesNotContainKeys(
                                                    "authorization", "x-goog-user-project"));
        }
    }

    /** The job. */
    static final class Job {

        private Job() {}

        public static void main(String[] arguments) throws Exception {
            StreamExecutionEnvironment env = CopyJob.environment(new Configuration());
            CopyJob.build(
                    env,
                    CopyJob.boundedSource().emulatorEndpoint(arguments[0]).build(),
                    CopyJob.sink().emulatorEndpoint(arguments[0]).build());
            env.execute();
        }
    }
}

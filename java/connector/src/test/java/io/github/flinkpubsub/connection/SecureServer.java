package io.github.flinkpubsub.connection;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.flinkpubsub.it.Certificate;
import io.github.flinkpubsub.testing.PubSubEmulator;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The embedded server over TLS, with a topic and a subscription to read and a pair to write to. */
final class SecureServer implements AutoCloseable {

    static final String INPUT = "projects/p/topics/input";
    static final String INPUT_SUB = "projects/p/subscriptions/input-sub";
    static final String OUTPUT = "projects/p/topics/output";
    static final String OUTPUT_SUB = "projects/p/subscriptions/output-sub";

    final PubSubEmulator server;
    final Certificate certificate;

    private SecureServer(PubSubEmulator server, Certificate certificate) {
        this.server = server;
        this.certificate = certificate;
    }

    static SecureServer start(Path directory, String... arguments) throws Exception {
        Certificate certificate = Certificate.in(directory);
        List<String> all =
                new ArrayList<>(
                        List.of(
                                "--tls-cert",
                                certificate.file(),
                                "--tls-key",
                                certificate.keyFile(),
                                "--record"));
        all.addAll(Arrays.asList(arguments));
        PubSubEmulator server = PubSubEmulator.start(all.toArray(new String[0]));
        server.createTopic(INPUT);
        server.createSubscription(INPUT_SUB, INPUT);
        server.createTopic(OUTPUT);
        server.createSubscription(OUTPUT_SUB, OUTPUT);
        return new SecureServer(server, certificate);
    }

    /** Waits until what was read from the input is acknowledged. */
    void awaitAcks() {
        long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
        while (server.control().subscription(INPUT_SUB).outstanding() > 0) {
            assertThat(System.nanoTime()).as("acks").isLessThan(deadline);
        }
    }

    @Override
    public void close() {
        server.close();
    }
}

package io.github.flinkpubsub.connection;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.testing.RecordedRequest;

import org.apache.flink.core.execution.JobClient;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** Jobs that prove who they are, to a server over TLS that lets nobody else in. */
@Tag("integration")
@Tag("flink2")
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class CredentialsIT {

    private static final String TOKEN = "issued-token";
    private static final long TIMEOUT_MILLIS = 60_000;

    @TempDir private Path dir;
    private TokenService tokens;
    private SecureServer secure;
    private Path keyFile;

    @BeforeEach
    void start() throws Exception {
        tokens = TokenService.start(TOKEN);
        keyFile = dir.resolve("key.json");
        tokens.writeKeyFile(keyFile);
        secure = SecureServer.start(dir, "--require-token", TOKEN);
    }

    @AfterEach
    void stop() {
        secure.close();
        tokens.close();
    }

    private Map<String, String> headers(String method) {
        List<RecordedRequest> requests =
                secure.server.control().requests(method).stream()
                        .filter(request -> !request.headers().isEmpty())
                        .filter(
                                request ->
                                        request.headers()
                                                .getOrDefault("user-agent", "")
                                                .startsWith("flink-pubsub-native/"))
                        .collect(Collectors.toList());
        assertThat(requests).as(method).isNotEmpty();
        return requests.get(0).headers();
    }

    @Test
    void aJobReadsAndWritesWithAKeyFile() throws Exception {
        secure.server.publish(SecureServer.INPUT, "one", "two", "three");
        JobClient job =
                CopyJob.start(
                        CopyJob.source()
                                .endpoint(secure.server.endpoint())
                                .caCertificateFile(secure.certificate.file())
                                .serviceAccountKeyFile(keyFile.toString())
                                .quotaProject("payer")
                                .build(),
                        CopyJob.sink()
                                .endpoint(secure.server.endpoint())
                                .caCertificateFile(secure.certificate.file())
                                .serviceAccountKeyFile(keyFile.toString())
                                .quotaProject("payer")
                                .build());
        List<String> copied =
                secure.server.receive(SecureServer.OUTPUT_SUB, 3, TIMEOUT_MILLIS).stream()
                        .map(PubsubMessage::getData)
                        .map(data -> data.toStringUtf8())
                        .collect(Collectors.toList());
        assertThat(copied).containsExactlyInAnyOrder("one", "two", "three");
        secure.awaitAcks();
        job.cancel().get();

        // The enumerator may be gone before the reader comes; all others share one credential.
        assertThat(tokens.asked()).isBetween(1, 2);
        String subscription = "subscription=projects%2Fp%2Fsubscriptions%2Finput-sub";
        Map<String, String> routing =
                Map.of(
                        "GetSubscription", subscription,
                        "StreamingPull", subscription,
                        "Acknowledge", subscription,
                        "Publish", "topic=projects%2Fp%2Ftopics%2Foutput");
        routing.forEach(
                (method, params) ->
                        assertThat(headers(method))
                                .as(method)
                                .containsEntry("x-goog-request-params", params)
                                .containsEntry(
                                        "authorization", "Bearer (" + TOKEN.length() + " bytes)")
                                .containsEntry("x-goog-user-project", "payer")
                                .hasEntrySatisfying(
                                        "x-goog-api-client",
                                        client ->
                                                assertThat(client)
                                                        .matches("flink-pubsub-native/[0-9.]+"))
                                .hasEntrySatisfying(
                                        "user-agent",
                                        agent ->
                                                assertThat(agent)
                                                        .matches(
                                                                "flink-pubsub-native/[0-9.]+"
                                                                        + " .*")));
    }

    /** Each copy of the library has a TLS of its own. */
    @Test
    void twoCopiesOfTheLibraryConnectInOneJvm() throws Exception {
        List<URL> urls = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(":")) {
            urls.add(Paths.get(entry).toUri().toURL());
        }
        URL[] path = urls.toArray(new URL[0]);
        List<AutoCloseable> open = new ArrayList<>();
        try {
            for (int copy = 0; copy < 2; copy++) {
                URLClassLoader loader =
                        new URLClassLoader(path, ClassLoader.getPlatformClassLoader());
                open.add(0, loader);
                Class<?> optionsClass =
                        loader.loadClass("io.github.flinkpubsub.nativebridge.NativeOptions");
                Object options = optionsClass.getConstructor().newInstance();
                Method put = optionsClass.getMethod("put", String.class, String.class);
                put.invoke(options, "endpoint", secure.server.endpoint());
                put.invoke(options, "ca-certificate-file", secure.certificate.file());
                put.invoke(options, "service-account-key-file", keyFile.toString());
                Class<?> adminClass =
                        loader.loadClass("io.github.flinkpubsub.nativebridge.NativeAdmin");
                Object admin = adminClass.getMethod("open", optionsClass).invoke(null, options);
                open.add(0, (AutoCloseable) () -> adminClass.getMethod("close").invoke(admin));
                Object described =
                        adminClass
                                .getMethod("describeSubscription", String.class)
                                .invoke(admin, SecureServer.INPUT_SUB);
                assertThat(((Map<?, ?>) described).get("topic")).isEqualTo(SecureServer.INPUT);
                assertThat(tokens.asked()).isEqualTo(copy + 1);
            }
        } finally {
            for (AutoCloseable closeable : open) {
                closeable.close();
            }
        }
    }
}

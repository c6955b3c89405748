package io.github.flinkpubsub;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.flinkpubsub.nativebridge.NativeOptions;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Instant;
import java.util.Map;
import java.util.function.Consumer;

class ConnectionOptionsTest {

    private static Map<String, String> encoded(Consumer<ConnectionOptions.Builder> settings) {
        ConnectionOptions.Builder builder = ConnectionOptions.builder();
        settings.accept(builder);
        NativeOptions options = new NativeOptions();
        builder.build().addTo(options);
        return options.asMap();
    }

    @Test
    void nothingIsSetByDefault() {
        assertThat(encoded(builder -> {})).isEmpty();
    }

    @Test
    void allOptionsArrive() {
        assertThat(
                        encoded(
                                builder -> {
                                    builder.endpoint("europe-west1-pubsub.googleapis.com:443");
                                    builder.serviceAccountKeyFile("/keys/k.json");
                                    builder.quotaProject("payer");
                                    builder.caCertificateFile("/ca.pem");
                                }))
                .containsExactly(
                        Map.entry("endpoint", "europe-west1-pubsub.googleapis.com:443"),
                        Map.entry("service-account-key-file", "/keys/k.json"),
                        Map.entry("quota-project", "payer"),
                        Map.entry("ca-certificate-file", "/ca.pem"));
        assertThat(encoded(builder -> builder.emulatorEndpoint("localhost:8085")))
                .containsExactly(Map.entry("emulator-endpoint", "localhost:8085"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "localhost:1",
                "127.0.0.1:65535",
                "[::1]:8085",
                "[2001:db8::ffff:1.2.3.4]:443",
                "pub-sub_1.internal:80",
                "pubsub.internal.:80"
            })
    void legalEndpoints(String endpoint) {
        assertThat(encoded(builder -> builder.emulatorEndpoint(endpoint)))
                .containsEntry("emulator-endpoint", endpoint);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "localhost",
                "localhost:",
                ":8085",
                "localhost:0",
                "localhost:65536",
                "localhost:80x",
                "http://localhost:8085",
                "localhost:8085/",
                "::1:8085",
                "[]:8085",
                "[localhost]:8085",
                "[1::2::3]:8085",
                "[127.0.0.1]:8085",
                "pubsub..internal:8085",
                "-pubsub:8085",
                "a-label-of-more-than-63-characters-is-more-than-the-names-may-have:80",
                "a b:1",
                "localhost:-1"
            })
    void illegalEndpoints(String endpoint) {
        ConnectionOptions.Builder builder = ConnectionOptions.builder();
        assertThatThrownBy(() -> builder.emulatorEndpoint(endpoint))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("emulatorEndpoint must be host:port")
                .hasMessageContaining("'" + endpoint + "'");
        assertThatThrownBy(() -> builder.endpoint(endpoint))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("endpoint must be host:port");
    }

    @Test
    void blanksAreNamed() {
        ConnectionOptions.Builder builder = ConnectionOptions.builder();
        assertThatThrownBy(() -> builder.serviceAccountKeyFile(" "))
                .hasMessage("serviceAccountKeyFile must not be null or blank");
        assertThatThrownBy(() -> builder.caCertificateFile(null))
                .hasMessage("caCertificateFile must not be null or blank");
        assertThatThrownBy(() -> builder.quotaProject(""))
                .hasMessage("quotaProject must not be null or blank");
        assertThatThrownBy(() -> builder.emulatorEndpoint(null))
                .hasMessage("emulatorEndpoint must not be null or blank");
    }

    @Test
    void theEmulatorExcludesTheRest() {
        refused("endpoint", builder -> builder.endpoint("h:1"));
        refused("serviceAccountKeyFile", builder -> builder.serviceAccountKeyFile("/k"));
        refused("quotaProject", builder -> builder.quotaProject("p"));
        refused("caCertificateFile", builder -> builder.caCertificateFile("/c"));
        refused("accessTokenProvider", builder -> builder.accessTokenProvider(() -> null));
    }

    @Test
    void aTokenProviderExcludesAKeyFile() {
        ConnectionOptions.Builder builder = ConnectionOptions.builder();
        builder.accessTokenProvider(() -> null);
        builder.serviceAccountKeyFile("/k");
        assertThatThrownBy(builder::build)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith(
                        "accessTokenProvider and serviceAccountKeyFile exclude each other");
    }

    @Test
    void aTokenProviderMustBeSerializable() {
        Object notSerializable = new Object();
        assertThatThrownBy(
                        () ->
                                ConnectionOptions.builder()
                                        .accessTokenProvider(
                                                () ->
                                                        AccessToken.of(
                                                                notSerializable.toString(),
                                                                Instant.MAX)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("accessTokenProvider must be serializable");
        assertThatThrownBy(() -> ConnectionOptions.builder().accessTokenProvider(null))
                .hasMessage("accessTokenProvider must not be null");
    }

    private static void refused(String option, Consumer<ConnectionOptions.Builder> other) {
        ConnectionOptions.Builder builder = ConnectionOptions.builder();
        builder.emulatorEndpoint("localhost:1");
        other.accept(builder);
        assertThatThrownBy(builder::build)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith(option + " has no meaning beside emulatorEndpoint");
    }
}

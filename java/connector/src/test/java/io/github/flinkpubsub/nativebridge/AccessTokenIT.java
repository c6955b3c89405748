package io.github.flinkpubsub.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.google.protobuf.ByteString;
import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.AccessToken;
import io.github.flinkpubsub.AccessTokenProvider;
import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.it.Certificate;
import io.github.flinkpubsub.testing.PubSubEmulator;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Tokens that Java fetches, on their way to a server that asks for them. */
@Tag("integration")
@Timeout(value = 1, unit = TimeUnit.MINUTES)
class AccessTokenIT {

    private static final String TOPIC = "projects/p/topics/topic";
    private static final String SUBSCRIPTION = "projects/p/subscriptions/subscription";
    private static final String GOOD = "good-token";

    private static final List<String> EVENTS = Collections.synchronizedList(new ArrayList<>());

    @TempDir private Path dir;
    private Certificate certificate;
    private PubSubEmulator server;

    @BeforeEach
    void startServer() throws Exception {
        certificate = Certificate.in(dir);
        server =
                PubSubEmulator.start(
                        "--tls-cert",
                        certificate.file(),
                        "--tls-key",
                        certificate.keyFile(),
                        "--require-token",
                        GOOD,
                        "--record");
        server.createTopic(TOPIC);
        server.createSubscription(SUBSCRIPTION, TOPIC);
        EVENTS.clear();
    }

    @AfterEach
    void stopServer() {
        server.close();
    }

    private NativeOptions connection(AccessTokenProvider provider) {
        return new NativeOptions()
                .put("endpoint", server.endpoint())
                .put("ca-certificate-file", certificate.file())
                .put("quota-project", "payer")
                .accessTokenProvider(provider);
    }

    /** Answers tokens that the server refuses until it has been told so. */
    private static final class Renewing implements AccessTokenProvider {

        private static final long serialVersionUID = 1L;

        private int refusals;

        @Override
        public void open() {
            EVENTS.add("open");
        }

        @Override
        public AccessToken token() {
            EVENTS.add("token");
            return AccessToken.of(
                    refusals == 0 ? "old-token" : GOOD, Instant.now().plusSeconds(3_600));
        }

        @Override
        public void refused(AccessToken token) {
            EVENTS.add("refused " + token.value());
            refusals++;
        }

        @Override
        public void close() {
            EVENTS.add("close");
        }
    }

    @Test
    void allClientsShareOneProviderAndRenewWhatIsRefused() throws Exception {
        NativeAdmin admin = NativeAdmin.open(connection(new Renewing()));
        NativeSubscriber subscriber =
                NativeSubscriber.open(connection(new Renewing()).put("client-id-prefix", "test"));
        // The call that is refused waits for the next token.
        assertThat(admin.describeSubscription(SUBSCRIPTION)).containsEntry("topic", TOPIC);
        assertThat(EVENTS).containsExactly("open", "token", "refused old-token", "token");

        server.publish(
                TOPIC,
                List.of(
                        PubsubMessage.newBuilder()
                                .setData(ByteString.copyFromUtf8("hello"))
                                .build()));
        subscriber.addSplit(SUBSCRIPTION);
        NativeBatch batch = new NativeBatch(1_024, 120);
        assertThat(subscriber.poll(batch, 30_000)).isTrue();
        assertThat(batch.count()).isEqualTo(1);
        assertThat(EVENTS).containsExactly("open", "token", "refused old-token", "token");
        assertThat(server.control().requests("StreamingPull").get(0).headers())
                .containsEntry("authorization", "Bearer (10 bytes)")
                .containsEntry("x-goog-user-project", "payer");

        subscriber.close(1_000);
        assertThat(EVENTS).doesNotContain("close");
        admin.close();
        assertThat(EVENTS).containsExactly("open", "token", "refused old-token", "token", "close");
    }

    @Test
    void aProviderThatCannotBeOpenedFailsTheCalls() throws Exception {
        NativeAdmin admin = NativeAdmin.open(connection(new Broken()));
        Throwable failure = catchThrowable(() -> admin.describeSubscription(SUBSCRIPTION));
        assertThat(failure)
                .isInstanceOf(PubSubException.class)
                .hasMessageContaining("UNAUTHENTICATED")
                .hasMessageContaining(
                        "no access token: the accessTokenProvider cannot be opened:"
                                + " java.lang.IllegalStateException: out of order");
        admin.close();
        assertThat(server.control().calls()).containsEntry("GetSubscription", 0L);
    }

    private static final class Broken implements AccessTokenProvider {

        private static final long serialVersionUID = 1L;

        @Override
        public void open() {
            throw new IllegalStateException("out of order");
        }

        @Override
        public AccessToken token() {
            throw new AssertionError("not open");
        }
    }
}

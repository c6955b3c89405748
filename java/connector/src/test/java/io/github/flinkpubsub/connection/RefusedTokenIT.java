package io.github.flinkpubsub.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.github.flinkpubsub.testing.EmulatorControl;
import io.github.flinkpubsub.testing.FaultAction;
import io.grpc.Status;

import org.apache.flink.core.execution.JobClient;
import org.apache.flink.util.ExceptionUtils;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** Jobs without restarts whose token the service refuses while they run. */
@Tag("integration")
@Tag("flink2")
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class RefusedTokenIT {

    private static final String FIRST = "first-token";
    private static final String SECOND = "the-second-token";
    private static final long TIMEOUT_MILLIS = 60_000;

    private static void copies(SecureServer secure, String text) throws Exception {
        secure.server.publish(SecureServer.INPUT, text);
        assertThat(secure.server.receive(SecureServer.OUTPUT_SUB, 1, TIMEOUT_MILLIS))
                .extracting(message -> message.getData().toStringUtf8())
                .containsExactly(text);
    }

    @Test
    void aJobGoesOnWithAFreshTokenAndEndsWhenThatIsRefusedToo(@TempDir Path dir) throws Exception {
        try (TokenService tokens = TokenService.start(FIRST);
                SecureServer secure = SecureServer.start(dir, "--require-token")) {
            EmulatorControl control = secure.server.control();
            // The test's own calls have this token.
            control.grant("any", "roles/pubsub.editor");
            control.grant(FIRST, "roles/pubsub.editor");
            Path keyFile = dir.resolve("key.json");
            tokens.writeKeyFile(keyFile);
            JobClient job =
                    CopyJob.start(
                            CopyJob.source()
                                    .endpoint(secure.server.endpoint())
                                    .caCertificateFile(secure.certificate.file())
                                    .serviceAccountKeyFile(keyFile.toString())
                                    .build(),
                            CopyJob.sink()
                                    .endpoint(secure.server.endpoint())
                                    .caCertificateFile(secure.certificate.file())
                                    .serviceAccountKeyFile(keyFile.toString())
                                    .build());
            copies(secure, "one");
            secure.awaitAcks();
            int asked = tokens.asked();

            tokens.issue(SECOND);
            control.grant(SECOND, "roles/pubsub.editor");
            control.revoke(FIRST);
            FaultAction cut = FaultAction.status(Status.Code.UNAVAILABLE, "on purpose");
            assertThat(control.closeStreams(SecureServer.INPUT_SUB, cut)).isEqualTo(1);
            copies(secure, "two");
            secure.awaitAcks();
            // Stream, acks and publishes share the one that was fetched for them.
            assertThat(tokens.asked()).isEqualTo(asked + 1);

            control.revoke(SECOND);
            control.closeStreams(SecureServer.INPUT_SUB, cut);
            Throwable failure =
                    catchThrowable(
                            () ->
                                    job.getJobExecutionResult()
                                            .get(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS));
            assertThat(ExceptionUtils.stringifyException(failure))
                    .contains(
                            "UNAUTHENTICATED from StreamingPull on "
                                    + SecureServer.INPUT_SUB
                                    + ": The request's bearer token is not one that this server"
                                    + " knows; a fresh token was refused as well");
            assertThat(tokens.asked()).isEqualTo(asked + 2);
        }
    }
}

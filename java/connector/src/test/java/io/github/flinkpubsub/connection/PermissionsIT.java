package io.github.flinkpubsub.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.sink.PubSubSinkBuilder;
import io.github.flinkpubsub.source.PubSubSource;
import io.github.flinkpubsub.source.PubSubSourceBuilder;
import io.github.flinkpubsub.source.StartPosition;
import io.github.flinkpubsub.source.SubscriptionCreateOptions;

import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.ExceptionUtils;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * What each set of roles allows, and what is said of the rest: the table in {@code
 * docs/production.md}.
 */
@Tag("integration")
@Tag("flink2")
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class PermissionsIT {

    private static final String MISSING = "projects/p/topics/missing";
    private static final long TIMEOUT_MILLIS = 60_000;

    /** May do everything, and is not under test. */
    private static final String OTHER = "other";

    @TempDir private Path dir;
    private SecureServer secure;

    @BeforeEach
    void start() throws Exception {
        secure = SecureServer.start(dir, "--require-token");
        // The test's own calls have this token.
        secure.server.control().grant("any", "roles/pubsub.editor");
        secure.server.control().grant(OTHER, "roles/pubsub.editor");
    }

    @AfterEach
    void stop() {
        secure.close();
    }

    private PubSubSourceBuilder<String> source(String token, PubSubSourceBuilder<String> builder) {
        return builder.endpoint(secure.server.endpoint())
                .caCertificateFile(secure.certificate.file())
                .accessTokenProvider(new StaticToken(token));
    }

    private PubSubSinkBuilder<String> sink(String token) {
        return CopyJob.sink()
                .endpoint(secure.server.endpoint())
                .caCertificateFile(secure.certificate.file())
                .accessTokenProvider(new StaticToken(token));
    }

    private PubSubSourceBuilder<String> created(String token) {
        return source(
                token,
                PubSubSource.<String>builder()
                        .subscription(
                                SubscriptionDestination.of("p", "new-" + token),
                                SubscriptionCreateOptions.builder()
                                        .topic(TopicDestination.parse(SecureServer.INPUT))
                                        .build())
                        .deserializer(new SimpleStringSchema()));
    }

    private void copies(PubSubSourceBuilder<String> source, PubSubSinkBuilder<String> sink)
            throws Exception {
        secure.server.publish(SecureServer.INPUT, "text");
        JobClient job = CopyJob.start(source.build(), sink.build());
        assertThat(secure.server.receive(SecureServer.OUTPUT_SUB, 1, TIMEOUT_MILLIS)).hasSize(1);
        job.cancel().get();
    }

    private void writes(PubSubSinkBuilder<String> sink) throws Exception {
        StreamExecutionEnvironment env = CopyJob.environment(new Configuration());
        env.fromData("text").sinkTo(sink.build());
        env.execute();
    }

    /** A source that does not end: Flink may report a lost end of input instead of the failure. */
    private String writeFailure(PubSubSinkBuilder<String> sink) {
        secure.server.publish(SecureServer.INPUT, "text");
        return failure(
                () ->
                        CopyJob.start(source(OTHER, CopyJob.source()).build(), sink.build())
                                .getJobExecutionResult()
                                .get());
    }

    private static String failure(Call call) {
        return ExceptionUtils.stringifyException(catchThrowable(call::run));
    }

    private interface Call {
        void run() throws Exception;
    }

    private String readFailure(PubSubSourceBuilder<String> source) {
        return failure(
                () ->
                        CopyJob.start(source.build(), sink(OTHER).build())
                                .getJobExecutionResult()
                                .get(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS));
    }

    @Test
    void aPublisherWritesToTopicsThatExist() throws Exception {
        String token = "publisher";
        secure.server.control().grant(token, "roles/pubsub.publisher");
        writes(sink(token));
        assertThat(secure.server.receive(SecureServer.OUTPUT_SUB, 1, TIMEOUT_MILLIS)).hasSize(1);
        assertThat(writeFailure(sink(token).topic(TopicDestination.parse(MISSING))))
                .contains(
                        "PERMISSION_DENIED from CreateTopic on "
                                + MISSING
                                + ": the topic is missing and cannot be created: User not"
                                + " authorized to perform this action. (the identity of this job"
                                + " needs the permission pubsub.topics.create)");
        assertThat(readFailure(source(token, CopyJob.source())))
                .contains("PERMISSION_DENIED")
                .contains(SecureServer.INPUT_SUB)
                .contains("needs the permission pubsub.subscriptions.consume");
    }

    @Test
    void aSubscriberReadsUncheckedAndCreatesNothing() throws Exception {
        String token = "subscriber";
        secure.server.control().grant(token, "roles/pubsub.subscriber");
        copies(source(token, CopyJob.source()), sink(OTHER));
        // To move a subscription is to consume.
        copies(
                source(token, CopyJob.source())
                        .startPosition(StartPosition.fromTimestamp(Instant.now())),
                sink(OTHER));
        assertThat(readFailure(created(token)))
                .contains("PERMISSION_DENIED")
                .contains("projects/p/subscriptions/new-" + token)
                .contains("pubsub.subscriptions.create");
        assertThat(writeFailure(sink(token)))
                .contains(
                        "PERMISSION_DENIED from Publish on "
                                + SecureServer.OUTPUT
                                + ": User not authorized to perform this action. (the identity of"
                                + " this job needs the permission pubsub.topics.publish)");
    }

    @Test
    void aViewerAndSubscriberReadsChecked() throws Exception {
        String token = "both";
        secure.server.control().grant(token, "roles/pubsub.viewer", "roles/pubsub.subscriber");
        copies(source(token, CopyJob.source()), sink(OTHER));
        assertThat(secure.server.control().requests("GetSubscription"))
                .anySatisfy(request -> assertThat(request.status()).hasValue("OK"));
        assertThat(readFailure(created(token)))
                .contains("PERMISSION_DENIED")
                .contains("pubsub.subscriptions.create");
        assertThat(writeFailure(sink(token))).contains("pubsub.topics.publish");
    }

    @Test
    void anEditorDoesEverything() throws Exception {
        String token = "editor";
        secure.server.control().grant(token, "roles/pubsub.editor");
        copies(source(token, CopyJob.source()), sink(token));
        writes(sink(token).topic(TopicDestination.parse(MISSING)));
        JobClient job = CopyJob.start(created(token).build(), sink(token).build());
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(TIMEOUT_MILLIS);
        while (secure.server.control().requests("CreateSubscription").stream()
                .noneMatch(
                        request ->
                                request.resource().endsWith("/new-" + token)
                                        && request.status().equals(Optional.of("OK")))) {
            assertThat(System.nanoTime()).as("created").isLessThan(deadline);
        }
        secure.server.publish(SecureServer.INPUT, "text");
        assertThat(secure.server.receive(SecureServer.OUTPUT_SUB, 1, TIMEOUT_MILLIS)).hasSize(1);
        job.cancel().get();
        assertThat(secure.server.control().calls())
                .containsEntry("CreateTopic", 3L)
                .containsEntry("CreateSubscription", 3L);
    }

    @Test
    void whoHasNoRoleIsToldWhatIsMissing() {
        secure.server.control().grant("nobody");
        assertThat(readFailure(source("nobody", CopyJob.source())))
                .contains("PERMISSION_DENIED")
                .contains("pubsub.subscriptions.consume");
    }
}

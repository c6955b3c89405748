package io.github.flinkpubsub.source.enumerator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.github.flinkpubsub.ConnectionOptions;
import io.github.flinkpubsub.LogCapture;
import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.PubSubException.Status;
import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.source.DeserializationFailurePolicy;
import io.github.flinkpubsub.source.OrderingMode;
import io.github.flinkpubsub.source.PubSubSubscriberOptions;
import io.github.flinkpubsub.source.SourceConfig;
import io.github.flinkpubsub.source.StartPosition;
import io.github.flinkpubsub.source.SubscriptionCreateOptions;

import org.junit.jupiter.api.Test;

import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

class SubscriptionSetupTest {

    private static final SubscriptionDestination A = SubscriptionDestination.of("p", "sub-a");
    private static final SubscriptionDestination B = SubscriptionDestination.of("p", "sub-b");
    private static final Instant NOW = Instant.parse("2026-01-02T03:04:05Z");

    private final FakeAdmin admin = new FakeAdmin();
    private final Map<SubscriptionDestination, SubscriptionCreateOptions> createOptions =
            new HashMap<>();
    private StartPosition position = StartPosition.continueFromSubscription();
    private OrderingMode ordering = OrderingMode.NONE;
    private DeserializationFailurePolicy policy = DeserializationFailurePolicy.FAIL;

    private static SubscriptionCreateOptions.Builder options() {
        return SubscriptionCreateOptions.builder().topic(TopicDestination.of("p", "top"));
    }

    private void run(SubscriptionDestination... started) throws Exception {
        SourceConfig config =
                new SourceConfig(
                        List.of(A, B),
                        createOptions,
                        position,
                        ConnectionOptions.builder().build(),
                        PubSubSubscriberOptions.defaults(),
                        ordering,
                        policy,
                        null,
                        null);
        new SubscriptionSetup(config, admin, () -> NOW).run(Set.of(started));
    }

    private PubSubException failure() {
        return catchThrowableOfType(PubSubException.class, this::run);
    }

    @Test
    void existingSubscriptionsAreLookedAtAndLeftAlone() throws Exception {
        admin.with(A.path()).with(B.path());
        run();
        assertThat(admin.calls).containsExactly("describe a", "describe b");
    }

    @Test
    void aMissingOneIsCreatedAfterAllWereLookedAt() throws Exception {
        admin.with(B.path());
        createOptions.put(A, options().build());
        position = StartPosition.latest();
        run();
        assertThat(admin.calls)
                .containsExactly(
                        "describe a",
                        "describe b",
                        "create a {topic=projects/p/topics/top}",
                        "seek a 2026-01-02T03:04:05Z",
                        "seek b 2026-01-02T03:04:05Z");
    }

    @Test
    void allProblemsAreToldAndNothingIsCreatedOrMoved() {
        createOptions.put(A, options().build());
        position = StartPosition.earliestRetained();
        ordering = OrderingMode.PER_KEY;
        PubSubException failure = failure();
        assertThat(failure)
                .hasMessageContaining("2 problems")
                .hasMessageContaining(A + " would be created without enableMessageOrdering")
                .hasMessageContaining(B + " does not exist")
                .hasMessageContaining("SubscriptionCreateOptions");
        assertThat(admin.calls).containsExactly("describe a", "describe b");
    }

    @Test
    void orderNeedsMessageOrdering() {
        admin.with(A.path(), "ordering", "true").with(B.path());
        ordering = OrderingMode.PER_KEY;
        PubSubException failure = failure();
        assertThat(failure.status()).isEqualTo(Status.FAILED_PRECONDITION);
        assertThat(failure.resource()).isEqualTo(B.path());
        assertThat(failure).hasMessageContaining("has message ordering off");
    }

    @Test
    void givingBackNeedsADeadLetterPolicy() {
        admin.with(A.path(), "dead-letter-topic", "projects/p/topics/dead").with(B.path());
        policy = DeserializationFailurePolicy.NACK;
        assertThat(failure()).hasMessageContaining(B + " has no dead-letter policy");
    }

    @Test
    void aDetachedSubscriptionIsRefused() {
        admin.with(A.path(), "detached", "true").with(B.path());
        assertThat(failure()).hasMessageContaining(A + " is detached");
    }

    @Test
    void whatCannotBeChangedMustBeAsWanted() {
        admin.with(A.path(), "topic", "projects/p/topics/other").with(B.path(), "filter", "x");
        createOptions.put(A, options().build());
        createOptions.put(B, options().enableMessageOrdering(true).build());
        assertThat(failure())
                .hasMessageContaining("3 problems")
                .hasMessageContaining("belongs to the topic projects/p/topics/other")
                .hasMessageContaining("exists with the filter 'x', not ''")
                .hasMessageContaining("exists with message ordering off");
    }

    @Test
    void whatCanBeChangedIsKept() throws Exception {
        admin.with(A.path(), "message-retention-ms", "1").with(B.path());
        createOptions.put(A, options().messageRetention(java.time.Duration.ofHours(1)).build());
        try (LogCapture log = LogCapture.of(SubscriptionSetup.class)) {
            run();
            assertThat(log.lines())
                    .containsExactly(
                            "INFO "
                                    + A
                                    + " exists and keeps its settings: [message-retention-ms is 1,"
                                    + " not 3600000]");
        }
        assertThat(admin.calls).containsExactly("describe a", "describe b");
        assertThat(admin.subscriptions.get(A.path())).containsEntry("message-retention-ms", "1");
    }

    @Test
    void anIdentityThatMayOnlyPullGoesOn() throws Exception {
        admin.with(A.path()).with(B.path());
        admin.failures.put("describe a", Status.PERMISSION_DENIED);
        try (LogCapture log = LogCapture.of(SubscriptionSetup.class)) {
            run();
            assertThat(log.lines()).hasSize(1);
            assertThat(log.lines().get(0))
                    .startsWith("WARN " + A)
                    .contains("pubsub.subscriptions.get")
                    .endsWith("it is read unchecked");
        }
        assertThat(admin.calls).containsExactly("describe a", "describe b");
    }

    @Test
    void whatMayNotBeLookedAtButCreatedIsCreatedOrThereAlready() throws Exception {
        admin.with(A.path()).with(B.path());
        admin.failures.put("describe a", Status.PERMISSION_DENIED);
        createOptions.put(A, options().build());
        run();
        assertThat(admin.calls).contains("create a {topic=projects/p/topics/top}");
    }

    @Test
    void aFailedCallNamesSubscriptionAndStatus() {
        admin.with(B.path());
        createOptions.put(A, options().build());
        admin.failures.put("create a", Status.PERMISSION_DENIED);
        PubSubException failure = failure();
        assertThat(failure.status()).isEqualTo(Status.PERMISSION_DENIED);
        assertThat(failure.resource()).isEqualTo(A.path());
        assertThat(failure).hasMessageContaining(A + " cannot be created");
    }

    @Test
    void whatTheJobHasReadBeforeIsNotMoved() throws Exception {
        admin.with(A.path()).with(B.path());
        position = StartPosition.fromTimestamp(Instant.parse("2026-01-01T00:00:00Z"));
        run(A);
        assertThat(admin.calls)
                .containsExactly("describe a", "describe b", "seek b 2026-01-01T00:00:00Z");
    }

    @Test
    void everyPositionMovesToWhatItSays() throws Exception {
        admin.with(A.path()).with(B.path());
        position = StartPosition.earliestRetained();
        run(B);
        position = StartPosition.fromSnapshot("snap");
        run(B);
        position = StartPosition.fromSnapshot("projects/q/snapshots/snap");
        run(B);
        assertThat(admin.calls.stream().filter(call -> call.startsWith("seek")))
                .containsExactly(
                        "seek a 1970-01-01T00:00:00Z",
                        "seek a projects/p/snapshots/snap",
                        "seek a projects/q/snapshots/snap");
    }

    private List<String> warnings() throws Exception {
        try (LogCapture log = LogCapture.of(SubscriptionSetup.class)) {
            run(B);
            return log.lines().stream()
                    .filter(line -> line.startsWith("WARN"))
                    .collect(Collectors.toList());
        }
    }

    @Test
    void aWayBackWarnsWhereNothingIsRetained() throws Exception {
        List<StartPosition> back =
                List.of(
                        StartPosition.earliestRetained(),
                        StartPosition.fromTimestamp(NOW.minusSeconds(1)));
        for (StartPosition start : back) {
            position = start;
            admin.with(A.path()).with(B.path());
            assertThat(warnings())
                    .containsExactly(
                            "WARN "
                                    + A
                                    + " retains no acknowledged messages, and neither does its"
                                    + " topic: the start position "
                                    + start
                                    + " brings back none of them");
            admin.with(A.path(), "retain-acked-messages", "true");
            assertThat(warnings()).isEmpty();
            admin.with(A.path(), "topic-message-retention-ms", "600000");
            assertThat(warnings()).isEmpty();
        }
        for (StartPosition start :
                List.of(
                        StartPosition.latest(),
                        StartPosition.continueFromSubscription(),
                        StartPosition.fromTimestamp(NOW.plusSeconds(1)))) {
            position = start;
            admin.with(A.path());
            assertThat(warnings()).isEmpty();
        }
    }

    @Test
    void oneThatAnotherCreatesMeanwhileIsCheckedAsWell() {
        admin.with(A.path(), "topic", "projects/p/topics/another").with(B.path());
        createOptions.put(A, options().build());
        // It is not there yet when it is looked at.
        admin.failuresOnce.put("describe a", Status.NOT_FOUND);
        assertThat(failure())
                .hasMessageContaining(
                        A + " exists and belongs to the topic projects/p/topics/another");
        assertThat(admin.calls)
                .containsExactly(
                        "describe a",
                        "describe b",
                        "create a {topic=projects/p/topics/top}",
                        "describe a");
    }
}

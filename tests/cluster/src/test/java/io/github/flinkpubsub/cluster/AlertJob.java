package io.github.flinkpubsub.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.pubsub.v1.Subscription;

import io.github.flinkpubsub.testing.PubSubEmulator;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The example {@code EarthquakeAlerts} between a feed and a subscriber that keeps what it gets. */
final class AlertJob implements AutoCloseable {
    static final String MAIN = "io.github.flinkpubsub.examples.EarthquakeAlerts";
    static final String TOPIC = "projects/p/topics/earthquakes";
    static final String SUBSCRIPTION = "projects/p/subscriptions/earthquakes-sub";
    static final String ALERTS = "projects/p/topics/alerts";
    static final String ALERTS_SUB = "projects/p/subscriptions/alerts-sub";

    private final PubSubEmulator server;
    private final FlinkCluster cluster;
    private final Feed feed;
    private final Alerts alerts;

    AlertJob(FlinkCluster cluster) throws IOException {
        this.cluster = cluster;
        server = PubSubEmulator.start("--quiet");
        createResources(server);
        feed = new Feed(server, TOPIC, SUBSCRIPTION);
        alerts = new Alerts(server, ALERTS_SUB);
    }

    static void createResources(PubSubEmulator server) {
        server.createTopic(TOPIC);
        // Short, because what a killed process held comes again only when its leases have run out.
        server.createSubscription(
                Subscription.newBuilder()
                        .setName(SUBSCRIPTION)
                        .setTopic(TOPIC)
                        .setAckDeadlineSeconds(10)
                        .build());
        server.createTopic(ALERTS);
        server.createSubscription(ALERTS_SUB, ALERTS);
    }

    static String[] arguments(PubSubEmulator server) {
        return new String[] {
            "--subscription", SUBSCRIPTION, "--topic", ALERTS, "--emulator", server.endpoint()
        };
    }

    /** Runs the job with options of {@code flink run}; answers its id. */
    String run(String... options) throws IOException {
        List<String> all = new ArrayList<>(Arrays.asList(options));
        all.addAll(List.of("-c", MAIN, FlinkCluster.property("jobs").toString()));
        all.addAll(Arrays.asList(arguments(server)));
        String job = cluster.cli().runDetached(all.toArray(new String[0]));
        cluster.awaitRunning(job);
        return job;
    }

    Alerts alerts() {
        return alerts;
    }

    /**
     * Stops the feed and waits until every earthquake has come out and every message is acked;
     * answers how many were published.
     */
    int finish() throws InterruptedException {
        List<String> published = feed.stop();
        Set<String> expected = new HashSet<>(published);
        alerts.awaitAll(expected);
        awaitAcks(server, SUBSCRIPTION);
        assertThat(alerts.ids().keySet()).isEqualTo(expected);
        assertThat(expected).hasSameSizeAs(published);
        return published.size();
    }

    /** Waits until every message of a subscription is acked. */
    static void awaitAcks(PubSubEmulator server, String subscription) {
        Await.until(
                "the last ack",
                FlinkCluster.LIMIT,
                () -> Feed.unacked(server, subscription),
                unacked -> unacked == 0);
    }

    @Override
    public void close() {
        feed.close();
        alerts.close();
        server.close();
    }
}

package io.github.flinkpubsub.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** Processes of the cluster are killed while messages flow: nothing is lost. */
@Tag("integration")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
@ExtendWith(ClusterExtension.class)
class FailureIT {
    private static final int SOME = 2_000;

    @Test
    void aKilledTaskManagerLosesNothing(FlinkCluster cluster) throws Exception {
        try (AlertJob alerts = new AlertJob(cluster)) {
            String job = alerts.run("-p", "2");
            cluster.awaitCheckpoints(job, 1);
            alerts.alerts().awaitMore(SOME);

            cluster.killTaskManager(cluster.rest().taskManagers(job).iterator().next());
            Await.until(
                    "the restart of " + job,
                    FlinkCluster.LIMIT,
                    () -> cluster.rest().restored(job),
                    restored -> restored >= 1);
            cluster.startTaskManager();
            cluster.awaitRunning(job);
            alerts.alerts().awaitMore(SOME);

            assertThat(alerts.finish()).isGreaterThan(2 * SOME);
            cluster.cancel(job);
        }
        cluster.awaitFreeSlots(2 * FlinkCluster.SLOTS);
    }

    @Test
    void aKilledJobManagerLosesNothing(FlinkCluster cluster) throws Exception {
        try (AlertJob alerts = new AlertJob(cluster)) {
            String job = alerts.run("-p", "2");
            cluster.awaitCheckpoints(job, 2);
            alerts.alerts().awaitMore(SOME);

            cluster.killJobManager();
            Path checkpoint = cluster.retainedCheckpoint(job).orElseThrow();
            cluster.startJobManager();
            cluster.awaitFreeSlots(2 * FlinkCluster.SLOTS);
            String again = alerts.run("-p", "2", "-s", checkpoint.toString());
            alerts.alerts().awaitMore(SOME);

            int published = alerts.finish();
            assertThat(published).isGreaterThan(2 * SOME);
            // The state came along: numbers go on, where a job without it would begin again at 1.
            alerts.alerts()
                    .numbers()
                    .forEach(
                            (network, numbers) ->
                                    assertThat(numbers.lastKey())
                                            .as(network)
                                            .isGreaterThanOrEqualTo(published / Feed.NETWORKS));
            cluster.cancel(again);
        }
        cluster.awaitFreeSlots(2 * FlinkCluster.SLOTS);
    }
}

package io.github.flinkpubsub.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** A job is stopped with a savepoint and goes on from it with another parallelism, twice. */
@Tag("integration")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
@ExtendWith(ClusterExtension.class)
class RescaleIT {
    private static final int SOME = 2_000;

    @Test
    void eachMessageTakesEffectOnceFrom2To4To1(FlinkCluster cluster) throws Exception {
        try (AlertJob alerts = new AlertJob(cluster)) {
            String job = alerts.run("-p", "2");
            for (String parallelism : new String[] {"4", "1"}) {
                alerts.alerts().awaitMore(SOME);
                String savepoint = cluster.cli().stop(job);
                cluster.awaitFreeSlots(2 * FlinkCluster.SLOTS);
                job = alerts.run("-p", parallelism, "-s", savepoint);
            }
            alerts.alerts().awaitMore(SOME);

            int published = alerts.finish();
            assertThat(alerts.alerts().ids().values()).containsOnly(1);
            alerts.alerts()
                    .numbers()
                    .forEach(
                            (network, numbers) ->
                                    assertThat(numbers)
                                            .as(network)
                                            .isEqualTo(
                                                    IntStream.rangeClosed(
                                                                    1, published / Feed.NETWORKS)
                                                            .boxed()
                                                            .collect(
                                                                    Collectors.toMap(
                                                                            number -> number,
                                                                            number -> 1))));
            cluster.cancel(job);
        }
        cluster.awaitFreeSlots(2 * FlinkCluster.SLOTS);
    }
}

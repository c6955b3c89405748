package io.github.flinkpubsub.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.flinkpubsub.testing.PubSubEmulator;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Jobs that bring the connector along come and go in one session cluster: neither class loaders nor
 * libraries, threads nor memory add up.
 */
@Tag("integration")
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class SubmitAndCancelIT {
    private static final int ROUNDS = Integer.getInteger("pubsub.cluster.rounds", 20);
    private static final int WARM_UP = 5;

    /** Code and classes of the JVM's; a copy of the library for each job would be above it. */
    private static final long ALLOWED_MIB = 96;

    @Test
    void jobsThatCameAndWentDoNotAddUp() throws Exception {
        try (FlinkCluster cluster = FlinkCluster.start("bundle");
                PubSubEmulator server = PubSubEmulator.start("--quiet")) {
            AlertJob.createResources(server);
            String jar = cluster.rest().upload(FlinkCluster.property("bundle"));
            Map<String, ProcessProbe> probes = new LinkedHashMap<>();
            probes.put("jobmanager", new ProcessProbe(cluster.jobManager().pid()));
            cluster.taskManagers()
                    .forEach((id, process) -> probes.put(id, new ProcessProbe(process.pid())));

            for (int round = 1; round <= WARM_UP; round++) {
                submitAndCancel(cluster, server, jar, round);
            }
            Map<String, Long> memory = new LinkedHashMap<>();
            for (Map.Entry<String, ProcessProbe> probe : probes.entrySet()) {
                awaitNoJob(probe.getKey(), probe.getValue());
                memory.put(probe.getKey(), probe.getValue().memoryBesideTheHeap());
            }
            for (int round = WARM_UP + 1; round <= ROUNDS; round++) {
                submitAndCancel(cluster, server, jar, round);
            }
            for (Map.Entry<String, ProcessProbe> probe : probes.entrySet()) {
                String name = probe.getKey();
                awaitNoJob(name, probe.getValue());
                long before = memory.get(name);
                long after = probe.getValue().memoryBesideTheHeap();
                System.out.printf("%s: %d MiB beside the heap, then %d%n", name, before, after);
                assertThat(after - before).as("MiB of " + name).isLessThan(ALLOWED_MIB);
            }
        }
    }

    private static void submitAndCancel(
            FlinkCluster cluster, PubSubEmulator server, String jar, int round) throws Exception {
        server.publish(
                AlertJob.TOPIC,
                "2024-01-01T00:00:00.000Z,e" + round + ",n0,4.5,10.0,0.0,0.0,here,earthquake");
        String job = cluster.rest().run(jar, AlertJob.MAIN, 4, AlertJob.arguments(server));
        assertThat(
                        server.receive(AlertJob.ALERTS_SUB, 1, FlinkCluster.LIMIT.toMillis())
                                .get(0)
                                .getAttributesOrThrow("id"))
                .isEqualTo("e" + round);
        // Or it would come to the next job, too.
        AlertJob.awaitAcks(server, AlertJob.SUBSCRIPTION);
        cluster.cancel(job);
        cluster.awaitFreeSlots(2 * FlinkCluster.SLOTS);
    }

    /**
     * The class loader of the last job may stay until the next job runs: no object of the heap
     * leads to it, and it never gets a second one. Its threads end at once.
     */
    private static void awaitNoJob(String name, ProcessProbe probe) {
        Await.until(
                "the end of the jobs' class loaders in " + name,
                FlinkCluster.LIMIT,
                probe::jobClassLoaders,
                loaders -> loaders <= 1);
        Await.until(
                "the end of the native threads in " + name,
                FlinkCluster.LIMIT,
                probe::nativeThreads,
                threads -> threads.isEmpty());
        Await.until(
                "the unloading of the native libraries in " + name,
                FlinkCluster.LIMIT,
                probe::mappedLibraries,
                copies -> copies <= 1);
    }
}

package io.github.flinkpubsub.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.flinkpubsub.testing.PubSubEmulator;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;

/**
 * Jobs that bring the connector along come and go in one session cluster: all that their class
 * loaders, libraries, threads, file descriptors and memory took is given back.
 */
@Tag("integration")
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class SubmitAndCancelIT {
    private static final int ROUNDS = Integer.getInteger("pubsub.cluster.rounds", 50);

    /** Until Flink has started its own threads and connections, and the JVM has compiled. */
    private static final int WARM_UP = 5;

    /** Code and classes of the JVM's; a copy of the library for each job would be above it. */
    private static final long ALLOWED_MIB = 96;

    /** Flink's, which it opens whenever it likes; one that each job left would be above it. */
    private static final int ALLOWED_DESCRIPTORS = 12;

    private FlinkCluster cluster;
    private PubSubEmulator server;
    private String bundle;
    private String empty;

    @Test
    void jobsThatCameAndWentLeaveNothing() throws Exception {
        try (FlinkCluster started = FlinkCluster.start("bundle");
                PubSubEmulator emulator = PubSubEmulator.start("--quiet")) {
            cluster = started;
            server = emulator;
            AlertJob.createResources(server);
            bundle = cluster.rest().upload(FlinkCluster.property("bundle"));
            empty = cluster.rest().upload(emptyJar());
            Map<String, ProcessProbe> probes = new LinkedHashMap<>();
            probes.put("jobmanager", new ProcessProbe(cluster.jobManager().pid()));
            cluster.taskManagers()
                    .forEach((id, process) -> probes.put(id, new ProcessProbe(process.pid())));

            submitAndCancelEmptyJob();
            for (Map.Entry<String, ProcessProbe> probe : probes.entrySet()) {
                awaitBase(probe.getKey(), probe.getValue());
                assertThat(probe.getValue().mappedLibraries()).isZero();
            }

            Map<String, Usage> before = new LinkedHashMap<>();
            for (int round = 1; round <= WARM_UP; round++) {
                submitAndCancel(round);
            }
            for (Map.Entry<String, ProcessProbe> probe : probes.entrySet()) {
                before.put(probe.getKey(), awaitBase(probe.getKey(), probe.getValue()));
            }
            for (int round = WARM_UP + 1; round <= ROUNDS; round++) {
                submitAndCancel(round);
            }
            for (Map.Entry<String, ProcessProbe> probe : probes.entrySet()) {
                String name = probe.getKey();
                Usage base = before.get(name);
                Usage now = awaitBase(name, probe.getValue());
                System.out.println(name + ": " + base + ", then " + now);
                assertThat(now.memory - base.memory).as("MiB of " + name).isLessThan(ALLOWED_MIB);
                assertThat(now.descriptors.size() - base.descriptors.size())
                        .as("file descriptors of %s, now %s", name, now.descriptors)
                        .isLessThan(ALLOWED_DESCRIPTORS);
            }
        }
    }

    private Path emptyJar() throws IOException {
        String name = EmptyJob.class.getName().replace('.', '/') + ".class";
        Path file = cluster.folder().resolve("empty.jar");
        try (JarOutputStream jar = new JarOutputStream(Files.newOutputStream(file));
                InputStream in = getClass().getClassLoader().getResourceAsStream(name)) {
            jar.putNextEntry(new JarEntry(name));
            in.transferTo(jar);
            jar.closeEntry();
        }
        return file;
    }

    private void submitAndCancel(int round) throws Exception {
        server.publish(
                AlertJob.TOPIC,
                "2024-01-01T00:00:00.000Z,e" + round + ",n0,4.5,10.0,0.0,0.0,here,earthquake");
        String job = cluster.rest().run(bundle, AlertJob.MAIN, 4, AlertJob.arguments(server));
        assertThat(
                        server.receive(AlertJob.ALERTS_SUB, 1, FlinkCluster.LIMIT.toMillis())
                                .get(0)
                                .getAttributesOrThrow("id"))
                .isEqualTo("e" + round);
        // Or it would come to the next job, too.
        AlertJob.awaitAcks(server, AlertJob.SUBSCRIPTION);
        cancel(job);
    }

    /** Shows that what {@link #awaitBase} waits for is what a job of Flink alone leaves. */
    private void submitAndCancelEmptyJob() throws Exception {
        String job = cluster.rest().run(empty, EmptyJob.class.getName(), 4);
        cluster.awaitRunning(job);
        cancel(job);
    }

    private void cancel(String job) throws IOException {
        cluster.cancel(job);
        cluster.awaitFreeSlots(2 * FlinkCluster.SLOTS);
    }

    /**
     * Waits until what jobs took is given back. One class loader may stay, and the library with it,
     * of whatever job: no object of the heap leads to it, and there is never a second one.
     */
    private static Usage awaitBase(String name, ProcessProbe probe) throws IOException {
        Await.until(
                "the end of the jobs' class loaders in " + name,
                FlinkCluster.LIMIT,
                probe::jobClassLoaders,
                loaders -> loaders <= 1);
        Await.until(
                "the end of the native threads in " + name,
                FlinkCluster.LIMIT,
                probe::nativeThreads,
                List::isEmpty);
        Await.until(
                "the unloading of the native libraries in " + name,
                FlinkCluster.LIMIT,
                probe::mappedLibraries,
                copies -> copies <= 1);
        return new Usage(probe.memoryBesideTheHeap(), probe.descriptors());
    }

    private static final class Usage {
        private final long memory;
        private final List<String> descriptors;

        Usage(long memory, List<String> descriptors) {
            this.memory = memory;
            this.descriptors = descriptors;
        }

        @Override
        public String toString() {
            return memory + " MiB beside the heap and " + descriptors.size() + " descriptors";
        }
    }
}

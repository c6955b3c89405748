package io.github.flinkpubsub.bench;

import com.sun.management.OperatingSystemMXBean;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Counts the messages of a run and reads the CPU time of this process when the run starts, when a
 * quarter has passed (the warm-up) and at its end. One meter per process.
 */
final class Meter {
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private final long total;
    private final long warmUp;
    private final CountDownLatch end = new CountDownLatch(1);

    private volatile long startNanos;
    private volatile long warmNanos;
    private volatile long warmCpu;
    private volatile long endNanos;
    private volatile long endCpu;

    Meter(long total) {
        this.total = total;
        this.warmUp = total / 4;
    }

    /**
     * Tells that {@code count} messages have passed; every number is told once, by whichever thread
     * counted it.
     */
    void passed(long count) {
        if (count == 1) {
            startNanos = System.nanoTime();
        }
        if (count == warmUp) {
            warmCpu = SYSTEM.getProcessCpuTime();
            warmNanos = System.nanoTime();
        }
        if (count == total) {
            end.countDown();
        }
    }

    /** Waits until all messages have passed. */
    void awaitEnd() throws InterruptedException {
        if (!end.await(15, TimeUnit.MINUTES)) {
            throw new IllegalStateException(
                    "The run of " + total + " messages did not end within 15 minutes");
        }
    }

    /** Takes the last reading: the work is done now. */
    void stop() {
        endCpu = SYSTEM.getProcessCpuTime();
        endNanos = System.nanoTime();
    }

    /** The readings, for the parent process. */
    Reading reading() throws IOException {
        long steady = total - warmUp;
        return new Reading(
                endCpu / 1e9 / (total / 1e6),
                (endCpu - warmCpu) / 1e9 / (steady / 1e6),
                steady / ((endNanos - warmNanos) / 1e9),
                peakResidentMegabytes(),
                (endNanos - startNanos) / 1e9);
    }

    private static double peakResidentMegabytes() throws IOException {
        for (String line : Files.readAllLines(Paths.get("/proc/self/status"))) {
            if (line.startsWith("VmHWM:")) {
                return Long.parseLong(line.replaceAll("[^0-9]", "")) / 1024.0;
            }
        }
        throw new IOException("/proc/self/status has no VmHWM line");
    }
}

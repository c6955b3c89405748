package io.github.flinkpubsub.it;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/** What this process takes of the machine's memory beside Java's heap, as Linux tells it. */
final class ProcessMemory {

    private static final Path STATUS = Paths.get("/proc/self/status");

    private ProcessMemory() {}

    /** In MiB. */
    static long besideTheHeap() throws IOException {
        for (String line : Files.readAllLines(STATUS)) {
            if (line.startsWith("VmRSS:")) {
                long kilobytes = Long.parseLong(line.replaceAll("[^0-9]", ""));
                return (kilobytes * 1_024 - Runtime.getRuntime().totalMemory()) >> 20;
            }
        }
        throw new IOException(STATUS + " has no VmRSS");
    }
}

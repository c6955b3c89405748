package io.github.flinkpubsub.bench;

import io.github.flinkpubsub.bench.Client.Kind;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;

/** The readings of all rounds; a result is the median over the rounds. */
final class Results {
    private final Map<Kind, Map<Workload, List<Reading>>> readings = new TreeMap<>();

    void add(Kind kind, Workload workload, Reading reading) {
        readings.computeIfAbsent(kind, k -> new TreeMap<>())
                .computeIfAbsent(workload, w -> new ArrayList<>())
                .add(reading);
    }

    /** The table for people. */
    String table() {
        StringBuilder table =
                new StringBuilder(
                        String.format(
                                Locale.ROOT,
                                "%n%-22s %-10s %14s %14s %10s %9s %6s%n",
                                "",
                                "",
                                "CPU-s/million",
                                "after warm-up",
                                "msgs/s",
                                "RSS MiB",
                                "ratio"));
        readings.forEach(
                (kind, workloads) ->
                        workloads
                                .keySet()
                                .forEach(
                                        workload -> {
                                            double ratio = ratio(kind, workload);
                                            table.append(
                                                    String.format(
                                                            Locale.ROOT,
                                                            "%-22s %-10s %14.3f %14.3f %10.0f %9.0f"
                                                                    + " %6s%n",
                                                            kind.label,
                                                            workload.label,
                                                            median(
                                                                    kind,
                                                                    workload,
                                                                    r -> r.cpuSecondsPerMillion),
                                                            median(
                                                                    kind,
                                                                    workload,
                                                                    r ->
                                                                            r.steadyCpuSecondsPerMillion),
                                                            median(
                                                                    kind,
                                                                    workload,
                                                                    r -> r.messagesPerSecond),
                                                            median(
                                                                    kind,
                                                                    workload,
                                                                    r -> r.peakResidentMegabytes),
                                                            Double.isNaN(ratio)
                                                                    ? ""
                                                                    : String.format(
                                                                            Locale.ROOT,
                                                                            "%.3f",
                                                                            ratio)));
                                        }));
        return table.toString();
    }

    /** The same as JSON: a list of objects. */
    void write(Path file) throws IOException {
        List<String> rows = new ArrayList<>();
        readings.forEach(
                (kind, workloads) ->
                        workloads
                                .keySet()
                                .forEach(
                                        workload -> {
                                            double ratio = ratio(kind, workload);
                                            rows.add(
                                                    String.format(
                                                            Locale.ROOT,
                                                            "  {\"name\": \"%s\", \"workload\":"
                                                                + " \"%s\", \"cpu_s_per_million\":"
                                                                + " %.3f,"
                                                                + " \"steady_cpu_s_per_million\":"
                                                                + " %.3f, \"msgs_per_s\": %.0f,"
                                                                + " \"peak_rss_mb\": %.1f,"
                                                                + " \"ratio\": %s}",
                                                            kind.label,
                                                            workload.label,
                                                            median(
                                                                    kind,
                                                                    workload,
                                                                    r -> r.cpuSecondsPerMillion),
                                                            median(
                                                                    kind,
                                                                    workload,
                                                                    r ->
                                                                            r.steadyCpuSecondsPerMillion),
                                                            median(
                                                                    kind,
                                                                    workload,
                                                                    r -> r.messagesPerSecond),
                                                            median(
                                                                    kind,
                                                                    workload,
                                                                    r -> r.peakResidentMegabytes),
                                                            Double.isNaN(ratio)
                                                                    ? "null"
                                                                    : String.format(
                                                                            Locale.ROOT,
                                                                            "%.4f",
                                                                            ratio)));
                                        }));
        Files.createDirectories(file.toAbsolutePath().getParent());
        Files.write(
                file,
                ("[\n" + String.join(",\n", rows) + "\n]\n").getBytes(StandardCharsets.UTF_8));
    }

    /**
     * CPU after warm-up over that of Google's client for the same work; NaN where that was not
     * measured.
     */
    private double ratio(Kind kind, Workload workload) {
        Kind google =
                kind == Kind.SOURCE || kind == Kind.GOOGLE_SUBSCRIBER
                        ? Kind.GOOGLE_SUBSCRIBER
                        : Kind.GOOGLE_PUBLISHER;
        return median(kind, workload, r -> r.steadyCpuSecondsPerMillion)
                / median(google, workload, r -> r.steadyCpuSecondsPerMillion);
    }

    private double median(Kind kind, Workload workload, ToDoubleFunction<Reading> value) {
        double[] sorted =
                readings.getOrDefault(kind, Map.of()).getOrDefault(workload, List.of()).stream()
                        .mapToDouble(value)
                        .sorted()
                        .toArray();
        if (sorted.length == 0) {
            return Double.NaN;
        }
        return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
    }
}

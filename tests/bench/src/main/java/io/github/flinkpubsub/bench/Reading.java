package io.github.flinkpubsub.bench;

import java.util.Locale;

/** What one process measured of itself. */
final class Reading {
    private static final String MARK = "reading ";

    /** CPU-seconds of the process per million messages, from its start. */
    final double cpuSecondsPerMillion;

    /** The same without the first quarter of the messages. */
    final double steadyCpuSecondsPerMillion;

    /** Rate without the first quarter. */
    final double messagesPerSecond;

    /** The largest resident set, in MiB. */
    final double peakResidentMegabytes;

    /** From the first message to the end. */
    final double seconds;

    Reading(
            double cpuSecondsPerMillion,
            double steadyCpuSecondsPerMillion,
            double messagesPerSecond,
            double peakResidentMegabytes,
            double seconds) {
        this.cpuSecondsPerMillion = cpuSecondsPerMillion;
        this.steadyCpuSecondsPerMillion = steadyCpuSecondsPerMillion;
        this.messagesPerSecond = messagesPerSecond;
        this.peakResidentMegabytes = peakResidentMegabytes;
        this.seconds = seconds;
    }

    String encode() {
        return String.format(
                Locale.ROOT,
                MARK + "%f %f %f %f %f",
                cpuSecondsPerMillion,
                steadyCpuSecondsPerMillion,
                messagesPerSecond,
                peakResidentMegabytes,
                seconds);
    }

    /** Reads a line of {@link #encode()}, or answers null for any other line. */
    static Reading decode(String line) {
        if (!line.startsWith(MARK)) {
            return null;
        }
        String[] fields = line.substring(MARK.length()).split(" ");
        return new Reading(
                Double.parseDouble(fields[0]),
                Double.parseDouble(fields[1]),
                Double.parseDouble(fields[2]),
                Double.parseDouble(fields[3]),
                Double.parseDouble(fields[4]));
    }
}

package io.github.flinkpubsub.bench;

import java.util.Map;

/** What every message of a run looks like. */
enum Workload {
    /** 1 KiB of ASCII text with two attributes. */
    LARGE("1KiB-2attr", 1024, Map.of("origin", "flink-bench", "content-type", "text/plain")),

    /** 100 bytes of ASCII text without attributes. */
    SMALL("100B", 100, Map.of());

    /** Different texts, so that neither side profits from one string that stays in the cache. */
    private static final int DISTINCT_PAYLOADS = 64;

    final String label;
    final int payloadBytes;
    final Map<String, String> attributes;

    Workload(String label, int payloadBytes, Map<String, String> attributes) {
        this.label = label;
        this.payloadBytes = payloadBytes;
        this.attributes = attributes;
    }

    /** The texts that writers publish in turn. */
    String[] payloads() {
        String[] payloads = new String[DISTINCT_PAYLOADS];
        for (int i = 0; i < payloads.length; i++) {
            StringBuilder text = new StringBuilder(payloadBytes);
            for (int j = 0; j < payloadBytes; j++) {
                text.append((char) ('a' + (i + j * 7) % 26));
            }
            payloads[i] = text.toString();
        }
        return payloads;
    }
}

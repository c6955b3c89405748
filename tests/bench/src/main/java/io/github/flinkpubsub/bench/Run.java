package io.github.flinkpubsub.bench;

import io.github.flinkpubsub.sink.PubSubPublisherOptions;

/** What a contender has to do. */
final class Run {
    final Workload workload;
    final long messages;

    /** {@code host:port} of the server. */
    final String endpoint;

    Run(Workload workload, long messages, String endpoint) {
        this.workload = workload;
        this.messages = messages;
        this.endpoint = endpoint;
    }

    /**
     * The sink's defaults, which Google's publisher is given as well; with {@code
     * BENCH_IN_FLIGHT_MIB}, that much in flight.
     */
    static PubSubPublisherOptions publisherOptions() {
        PubSubPublisherOptions.Builder options = PubSubPublisherOptions.builder();
        String inFlight = System.getenv("BENCH_IN_FLIGHT_MIB");
        if (inFlight != null) {
            options.maxInFlightBytes(Long.parseLong(inFlight) << 20);
        }
        return options.build();
    }

    String topic() {
        return "projects/bench/topics/" + resourceId();
    }

    String subscription() {
        return "projects/bench/subscriptions/" + resourceId();
    }

    String resourceId() {
        return "bench-" + workload.payloadBytes + "-" + workload.attributes.size();
    }
}

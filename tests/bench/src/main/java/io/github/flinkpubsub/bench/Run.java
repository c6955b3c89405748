package io.github.flinkpubsub.bench;

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

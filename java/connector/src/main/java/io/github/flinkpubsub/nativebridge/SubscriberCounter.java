package io.github.flinkpubsub.nativebridge;

import org.apache.flink.annotation.Internal;

/** The subscriber's counters in the order in which they cross the boundary. */
@Internal
public enum SubscriberCounter {
    MESSAGES_RECEIVED("messagesReceived"),
    ACKS_REQUESTED("acksRequested"),
    ACKS_CONFIRMED("acksConfirmed"),
    ACKS_FAILED("acksFailed"),
    MESSAGES_NACKED("messagesNacked"),
    REDELIVERIES("redeliveries"),
    LEASE_EXTENSIONS("leaseExtensions"),
    LEASES_EXPIRED("leasesExpired"),
    STREAM_RECONNECTS("streamReconnects"),
    OUTSTANDING_MESSAGES("outstandingMessages"),
    OUTSTANDING_BYTES("outstandingBytes"),
    BUFFERED_MESSAGES("bufferedMessages"),
    BUFFERED_BYTES("bufferedBytes"),
    PENDING_CHECKPOINTS("pendingCheckpoints");

    private final String metricName;

    SubscriberCounter(String metricName) {
        this.metricName = metricName;
    }

    /** The name under which Flink reports it. */
    public String metricName() {
        return metricName;
    }
}

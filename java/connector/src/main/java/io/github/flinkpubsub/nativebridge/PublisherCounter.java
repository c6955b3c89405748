package io.github.flinkpubsub.nativebridge;

import org.apache.flink.annotation.Internal;

/** The publisher's counters in the order in which they cross the boundary. */
@Internal
public enum PublisherCounter {
    IN_FLIGHT_MESSAGES,
    IN_FLIGHT_BYTES,
    PUBLISHED_MESSAGES,
    PUBLISHED_BYTES,
    FAILED_MESSAGES,
    PUBLISH_RETRIES,
    PARKED_MESSAGES,
    TOPICS_CREATED,
    ACTIVE_TOPICS,
    REQUESTS_IN_FLIGHT,
    UNWRITTEN_BYTES
}

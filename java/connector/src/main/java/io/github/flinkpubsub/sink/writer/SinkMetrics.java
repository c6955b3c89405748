package io.github.flinkpubsub.sink.writer;

import io.github.flinkpubsub.PubSubException.Status;
import io.github.flinkpubsub.nativebridge.Publisher;
import io.github.flinkpubsub.nativebridge.PublisherCounter;

import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.groups.SinkWriterMetricGroup;

import java.util.EnumMap;
import java.util.Map;

/**
 * A writer's metrics. Counters of this class belong to the task's thread; the native ones are read
 * when they are asked for, by any thread.
 */
final class SinkMetrics {

    private final SinkWriterMetricGroup group;
    private final Counter sent;
    private final Counter sentBytes;
    private final Counter errors;
    private final Counter skipped;
    private final Map<Status, Counter> errorsByStatus = new EnumMap<>(Status.class);

    SinkMetrics(SinkWriterMetricGroup group, Publisher publisher) {
        this.group = group;
        sent = group.getNumRecordsSendCounter();
        sentBytes = group.getNumBytesSendCounter();
        errors = group.getNumRecordsSendErrorsCounter();
        skipped = group.counter("recordsSkipped");
        gauge("inFlightMessages", publisher, PublisherCounter.IN_FLIGHT_MESSAGES);
        gauge("inFlightBytes", publisher, PublisherCounter.IN_FLIGHT_BYTES);
        gauge("parkedMessages", publisher, PublisherCounter.PARKED_MESSAGES);
        gauge("topicsCreated", publisher, PublisherCounter.TOPICS_CREATED);
        gauge("publishRetries", publisher, PublisherCounter.PUBLISH_RETRIES);
        gauge("activePublishers", publisher, PublisherCounter.ACTIVE_TOPICS);
    }

    /** Messages handed to the publisher. */
    void sent(int messages, int bytes) {
        sent.inc(messages);
        sentBytes.inc(bytes);
    }

    /** A record that the serializer made no message of. */
    void recordSkipped() {
        skipped.inc();
    }

    /** A record or message that failed. */
    void failed(Status status) {
        errors.inc();
        errorsByStatus
                .computeIfAbsent(
                        status,
                        code ->
                                group.addGroup("errorClass")
                                        .addGroup(code.name())
                                        .counter("errors"))
                .inc();
    }

    private void gauge(String name, Publisher publisher, PublisherCounter counter) {
        group.gauge(name, () -> publisher.state()[counter.ordinal()]);
    }
}

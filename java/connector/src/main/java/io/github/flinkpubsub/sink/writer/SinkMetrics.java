package io.github.flinkpubsub.sink.writer;

import io.github.flinkpubsub.PubSubException.Status;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.nativebridge.NativeLibrary;
import io.github.flinkpubsub.nativebridge.PublisherCounter;
import io.github.flinkpubsub.wire.MessageBlock;

import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.groups.SinkWriterMetricGroup;

import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import java.util.function.ToLongFunction;

import javax.annotation.Nullable;

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
    @Nullable private final Map<TopicDestination, Destination> destinations;

    SinkMetrics(SinkWriterMetricGroup group, boolean perDestination) {
        this.group = group;
        sent = group.getNumRecordsSendCounter();
        sentBytes = group.getNumBytesSendCounter();
        errors = group.getNumRecordsSendErrorsCounter();
        skipped = group.counter("recordsSkipped");
        destinations = perDestination ? new HashMap<>() : null;
    }

    /** Registers what the native side counts. */
    void register(ToLongFunction<PublisherCounter> counters) {
        group.gauge("nativeMemoryBytes", NativeLibrary::memory);
        gauge("inFlightMessages", counters, PublisherCounter.IN_FLIGHT_MESSAGES);
        gauge("inFlightBytes", counters, PublisherCounter.IN_FLIGHT_BYTES);
        gauge("unwrittenBytes", counters, PublisherCounter.UNWRITTEN_BYTES);
        gauge("parkedMessages", counters, PublisherCounter.PARKED_MESSAGES);
        gauge("topicsCreated", counters, PublisherCounter.TOPICS_CREATED);
        gauge("publishRetries", counters, PublisherCounter.PUBLISH_RETRIES);
        gauge("activePublishers", counters, PublisherCounter.ACTIVE_TOPICS);
    }

    /** Messages handed to a publisher, whose topics have these numbers. */
    void sent(MessageBlock block, Topics topics) {
        sent.inc(block.count());
        sentBytes.inc(block.length());
        if (destinations == null) {
            return;
        }
        int start = 0;
        for (int i = 0; i < block.count(); i++) {
            int end = block.index()[MessageBlock.STRIDE * i];
            Destination counters =
                    destination(topics.destination(block.index()[MessageBlock.STRIDE * i + 1]));
            counters.sent.inc();
            counters.sentBytes.inc(end - start);
            start = end;
        }
    }

    /** A record that the serializer made no message of. */
    void recordSkipped() {
        skipped.inc();
    }

    /** A record or message that failed; the topic is null when it is not known. */
    void failed(Status status, @Nullable TopicDestination topic) {
        errors.inc();
        errorsByStatus
                .computeIfAbsent(
                        status,
                        code ->
                                group.addGroup("errorClass")
                                        .addGroup(code.name())
                                        .counter("errors"))
                .inc();
        if (destinations != null && topic != null) {
            destination(topic).errors.inc();
        }
    }

    private Destination destination(TopicDestination topic) {
        return destinations.computeIfAbsent(
                topic, name -> new Destination(group.addGroup("topic", name.path())));
    }

    private void gauge(
            String name, ToLongFunction<PublisherCounter> counters, PublisherCounter counter) {
        group.gauge(name, () -> counters.applyAsLong(counter));
    }

    /** What is counted of one topic. */
    private static final class Destination {

        private final Counter sent;
        private final Counter sentBytes;
        private final Counter errors;

        Destination(MetricGroup group) {
            sent = group.counter("numRecordsSend");
            sentBytes = group.counter("numBytesSend");
            errors = group.counter("numRecordsSendErrors");
        }
    }
}

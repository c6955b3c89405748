package io.github.flinkpubsub.source.reader;

import io.github.flinkpubsub.PubSubDeserializationSchema;
import io.github.flinkpubsub.nativebridge.Subscriber;
import io.github.flinkpubsub.source.DeserializationFailurePolicy;
import io.github.flinkpubsub.source.StopCondition;
import io.github.flinkpubsub.source.split.PubSubSplit;

import org.apache.flink.api.connector.source.SourceOutput;
import org.apache.flink.connector.base.source.reader.RecordEmitter;

import java.time.Instant;

import javax.annotation.Nullable;

/** Decodes a message and emits its records. Runs on the task's thread. */
final class MessageEmitter<T> implements RecordEmitter<MessageView, T, PubSubSplit> {

    private final PubSubDeserializationSchema<T> schema;
    private final EventTime eventTime;
    private final FailureHandling failures;
    private final Subscriber subscriber;
    @Nullable private final StopCondition stopCondition;
    private final EmissionProgress progress;
    private final SourceMetrics metrics;
    private final RecordCollector<T> collector = new RecordCollector<>();

    MessageEmitter(
            PubSubDeserializationSchema<T> schema,
            EventTime eventTime,
            DeserializationFailurePolicy policy,
            @Nullable StopCondition stopCondition,
            Subscriber subscriber,
            EmissionProgress progress,
            SourceMetrics metrics) {
        this.schema = schema;
        this.eventTime = eventTime;
        this.failures = new FailureHandling(policy, subscriber, metrics);
        this.subscriber = subscriber;
        // A condition without an end includes everything and need not be asked.
        this.stopCondition = stopCondition != null && stopCondition.hasEnd() ? stopCondition : null;
        this.progress = progress;
        this.metrics = metrics;
    }

    @Override
    public void emitRecord(MessageView message, SourceOutput<T> output, PubSubSplit split)
            throws Exception {
        if (stopCondition != null && isBeyondEnd(message)) {
            subscriber.leave(message.split(), message.sequence());
            progress.advance(message.split(), message.sequence() + 1);
            return;
        }
        metrics.bytesIn(message.encodedSize());
        Exception failure = null;
        try {
            collector.start(output, eventTime.of(message));
            schema.deserialize(message, collector);
        } catch (Exception e) {
            failure = e;
        }
        collector.rethrowDownstream();
        if (failure != null) {
            failures.handle(message, failure);
        } else if (collector.count() == 0) {
            metrics.recordSkipped();
        }
        progress.advance(message.split(), message.sequence() + 1);
    }

    private boolean isBeyondEnd(MessageView message) {
        Instant published = message.publishTime();
        return !stopCondition.includes(published.getEpochSecond(), published.getNano());
    }
}

package io.github.flinkpubsub.source.reader;

import io.github.flinkpubsub.nativebridge.NativeLibrary;
import io.github.flinkpubsub.nativebridge.Subscriber;
import io.github.flinkpubsub.nativebridge.SubscriberCounter;

import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.groups.SourceReaderMetricGroup;

/**
 * A reader's metrics. Counters of this class belong to the task's thread; the native ones are read
 * when they are asked for, by any thread.
 */
final class SourceMetrics {

    private final Counter bytesIn;
    private final Counter errors;
    private final Counter skipped;
    private final Counter dropped;
    private volatile long fetchLagMillis;

    SourceMetrics(SourceReaderMetricGroup group, Subscriber subscriber) {
        bytesIn = group.getIOMetricGroup().getNumBytesInCounter();
        errors = group.getNumRecordsInErrorsCounter();
        skipped = group.counter("recordsSkipped");
        dropped = group.counter("messagesDropped");
        group.gauge("currentFetchEventTimeLag", () -> fetchLagMillis);
        group.gauge("nativeMemoryBytes", NativeLibrary::memory);
        for (SubscriberCounter counter : SubscriberCounter.values()) {
            group.gauge(counter.metricName(), () -> subscriber.counters()[counter.ordinal()]);
        }
    }

    void bytesIn(int bytes) {
        bytesIn.inc(bytes);
    }

    void recordFailed() {
        errors.inc();
    }

    /** A message that became no record. */
    void recordSkipped() {
        skipped.inc();
    }

    void messageDropped() {
        dropped.inc();
    }

    /** Called by the fetcher: how old the youngest message was when it was fetched. */
    void fetched(long lagMillis) {
        fetchLagMillis = lagMillis;
    }
}

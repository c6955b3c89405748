package io.github.flinkpubsub.source.reader;

import org.apache.flink.api.connector.source.SourceOutput;
import org.apache.flink.util.Collector;

import javax.annotation.Nullable;

/**
 * Passes a schema's records on with the message's timestamp, and remembers what the job behind it
 * throws: that is never the schema's failure, whatever the schema does with it.
 */
final class RecordCollector<T> implements Collector<T> {

    private SourceOutput<T> output;
    private long timestamp;
    private int count;
    @Nullable private Throwable downstream;

    /** Starts on a message. */
    void start(SourceOutput<T> output, long timestamp) {
        this.output = output;
        this.timestamp = timestamp;
        count = 0;
    }

    @Override
    public void collect(T record) {
        try {
            output.collect(record, timestamp);
        } catch (Throwable t) {
            downstream = t;
            throw t;
        }
        count++;
    }

    /** Records collected from the message. */
    int count() {
        return count;
    }

    /** Throws what the job behind this collector has thrown. */
    void rethrowDownstream() throws Exception {
        if (downstream instanceof Error) {
            throw (Error) downstream;
        }
        if (downstream != null) {
            throw (Exception) downstream;
        }
    }

    @Override
    public void close() {}
}

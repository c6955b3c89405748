package io.github.flinkpubsub.bench;

import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;

/** Counts the records and drops them. */
final class CountingSink implements Sink<String> {
    private static final long serialVersionUID = 1L;

    /** The meter of this process; the job runs in it, with parallelism 1. */
    static volatile Meter meter;

    @Override
    public SinkWriter<String> createWriter(WriterInitContext context) {
        return new Writer(meter);
    }

    private static final class Writer implements SinkWriter<String> {
        private final Meter meter;
        private long count;

        Writer(Meter meter) {
            this.meter = meter;
        }

        @Override
        public void write(String element, Context context) {
            meter.passed(++count);
        }

        @Override
        public void flush(boolean endOfInput) {}

        @Override
        public void close() {}
    }
}

package io.github.flinkpubsub.it;

import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Keeps records for the test, which runs in the same JVM. */
final class CollectingSink implements Sink<String> {

    static final List<String> records = Collections.synchronizedList(new ArrayList<>());

    private static final long serialVersionUID = 1L;

    static void await(int count, long timeoutMillis) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
        synchronized (records) {
            while (records.size() < count) {
                long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
                if (left <= 0) {
                    throw new AssertionError(records.size() + " of " + count + " records came");
                }
                records.wait(left);
            }
        }
    }

    @Override
    public SinkWriter<String> createWriter(WriterInitContext context) {
        return new SinkWriter<>() {
            @Override
            public void write(String element, Context context) {
                synchronized (records) {
                    records.add(element);
                    records.notifyAll();
                }
            }

            @Override
            public void flush(boolean endOfInput) {}

            @Override
            public void close() {}
        };
    }
}

package io.github.flinkpubsub.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.flinkpubsub.source.PubSubSource;
import io.github.flinkpubsub.source.split.PubSubSplit;

import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.testutils.source.reader.TestingReaderContext;
import org.apache.flink.connector.testutils.source.reader.TestingReaderOutput;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.SimpleCounter;
import org.apache.flink.metrics.groups.OperatorIOMetricGroup;
import org.apache.flink.metrics.groups.OperatorMetricGroup;
import org.apache.flink.metrics.testutils.MetricListener;
import org.apache.flink.runtime.metrics.groups.InternalSourceReaderMetricGroup;
import org.apache.flink.runtime.metrics.groups.ProxyMetricGroup;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;

/** A reader with its native subscriber; the test is its task and makes its checkpoints. */
final class ReaderOnServer implements AutoCloseable {

    private final MetricListener metrics = new MetricListener();
    private final InputCounters inputs = new InputCounters(metrics.getMetricGroup());
    private final TestingReaderOutput<String> output = new TestingReaderOutput<>();
    private final SourceReader<String, PubSubSplit> reader;
    private boolean closed;

    ReaderOnServer(PubSubSource<String> source, PubSubSplit... splits) throws Exception {
        InternalSourceReaderMetricGroup group =
                InternalSourceReaderMetricGroup.wrap(
                        new Operator(metrics.getMetricGroup(), inputs));
        reader = source.createReader(new TestingReaderContext(new Configuration(), group));
        reader.start();
        reader.addSplits(List.of(splits));
    }

    SourceReader<String, PubSubSplit> reader() {
        return reader;
    }

    /** Polls until so many records have come in all. */
    List<String> poll(int records) throws Exception {
        pollUntil(records + " records", () -> output.getEmittedRecords().size() >= records);
        assertThat(output.getEmittedRecords()).hasSize(records);
        return new ArrayList<>(output.getEmittedRecords());
    }

    void pollUntil(String what, BooleanSupplier reached) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(JobTest.TIMEOUT_MILLIS);
        while (!reached.getAsBoolean()) {
            assertThat(System.nanoTime())
                    .as("waited for " + what + ", came " + output.getEmittedRecords())
                    .isLessThan(deadline);
            pollOnce();
        }
    }

    InputStatus pollOnce() throws Exception {
        InputStatus status = reader.pollNext(output);
        if (status == InputStatus.NOTHING_AVAILABLE) {
            try {
                reader.isAvailable().get(10, TimeUnit.MILLISECONDS);
            } catch (TimeoutException e) {
                // The caller looks whether it still waits.
            }
        }
        return status;
    }

    void checkpoint(long id) throws Exception {
        reader.snapshotState(id);
        reader.notifyCheckpointComplete(id);
    }

    /** A gauge or a counter, also after the close. */
    long metric(String name) {
        try {
            Optional<Gauge<Long>> gauge = metrics.getGauge(name);
            return gauge.orElseThrow().getValue();
        } catch (ClassCastException e) {
            return metrics.getCounter(name).orElseThrow().getCount();
        }
    }

    long bytesIn() {
        return inputs.bytesIn.getCount();
    }

    long recordsIn() {
        return inputs.recordsIn.getCount();
    }

    @Override
    public void close() throws Exception {
        if (!closed) {
            closed = true;
            reader.close();
        }
    }

    private static final class Operator extends ProxyMetricGroup<MetricGroup>
            implements OperatorMetricGroup {

        private final InputCounters counters;

        Operator(MetricGroup parent, InputCounters counters) {
            super(parent);
            this.counters = counters;
        }

        @Override
        public OperatorIOMetricGroup getIOMetricGroup() {
            return counters;
        }
    }

    /** What Flink counts of an operator's input and output. */
    private static final class InputCounters extends ProxyMetricGroup<MetricGroup>
            implements OperatorIOMetricGroup {

        private final Counter recordsIn = new SimpleCounter();
        private final Counter bytesIn = new SimpleCounter();

        InputCounters(MetricGroup parent) {
            super(parent);
        }

        @Override
        public Counter getNumRecordsInCounter() {
            return recordsIn;
        }

        @Override
        public Counter getNumRecordsOutCounter() {
            return new SimpleCounter();
        }

        @Override
        public Counter getNumBytesInCounter() {
            return bytesIn;
        }

        @Override
        public Counter getNumBytesOutCounter() {
            return new SimpleCounter();
        }
    }
}

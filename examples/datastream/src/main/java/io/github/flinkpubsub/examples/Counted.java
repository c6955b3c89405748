package io.github.flinkpubsub.examples;

import org.apache.flink.api.common.accumulators.IntCounter;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;

/** Passes records on and counts them in an accumulator of the job. */
final class Counted<T> extends RichMapFunction<T, T> {
    private static final long serialVersionUID = 1L;

    private final String name;
    private final IntCounter count = new IntCounter();

    Counted(String name) {
        this.name = name;
    }

    @Override
    public void open(OpenContext context) {
        getRuntimeContext().addAccumulator(name, count);
    }

    @Override
    public T map(T record) {
        count.add(1);
        return record;
    }
}

package io.github.flinkpubsub.it;

import org.apache.flink.api.common.functions.MapFunction;

import java.util.concurrent.atomic.AtomicBoolean;

/** Passes records on, but throws at one of them the first time. */
final class FailOnce implements MapFunction<String, String> {

    static final AtomicBoolean failed = new AtomicBoolean();

    private static final long serialVersionUID = 1L;

    private final String record;

    FailOnce(String record) {
        this.record = record;
    }

    @Override
    public String map(String text) {
        if (text.equals(record) && failed.compareAndSet(false, true)) {
            throw new IllegalStateException("a failure on purpose");
        }
        return text;
    }
}

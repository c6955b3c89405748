package io.github.flinkpubsub.it;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * Counts the numbers that arrive, fails when it is told to, and watches the order of each key. The
 * test runs in the same JVM and reads the static fields.
 *
 * <p>Number {@code n} has the key {@code n % keys}; the numbers of a key are published in rising
 * order.
 */
final class Arrivals extends RichMapFunction<String, String> {

    /** How often each number came. */
    static volatile AtomicIntegerArray counts;

    static final AtomicInteger all = new AtomicInteger();
    static final AtomicInteger distinct = new AtomicInteger();
    static final AtomicInteger failures = new AtomicInteger();

    /** Set, the next record fails its task. */
    static final AtomicBoolean fail = new AtomicBoolean();

    /** Numbers that came before the one before them in their key had ever come. */
    static final AtomicInteger gaps = new AtomicInteger();

    /** Numbers that came after a higher one of their key, to the same attempt of the task. */
    static final AtomicInteger stepsBack = new AtomicInteger();

    private static final long serialVersionUID = 1L;

    private final int keys;
    private transient int[] last;

    Arrivals(int keys) {
        this.keys = keys;
    }

    static void expect(int messages) {
        counts = new AtomicIntegerArray(messages);
        for (AtomicInteger counter : Arrays.asList(all, distinct, failures, gaps, stepsBack)) {
            counter.set(0);
        }
        fail.set(false);
    }

    @Override
    public void open(OpenContext context) {
        last = new int[keys];
        Arrays.fill(last, -1);
    }

    @Override
    public String map(String text) {
        if (fail.compareAndSet(true, false)) {
            failures.incrementAndGet();
            throw new IllegalStateException("a failure on purpose");
        }
        int number = Integer.parseInt(text);
        if (number >= keys && counts.get(number - keys) == 0) {
            gaps.incrementAndGet();
        }
        int key = number % keys;
        if (number <= last[key]) {
            stepsBack.incrementAndGet();
        }
        last[key] = number;
        if (counts.getAndIncrement(number) == 0) {
            distinct.incrementAndGet();
        }
        all.incrementAndGet();
        return text;
    }
}

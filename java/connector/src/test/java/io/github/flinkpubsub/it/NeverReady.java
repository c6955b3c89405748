package io.github.flinkpubsub.it;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;

import java.util.concurrent.CountDownLatch;

/** Keeps its task from running, and with it every checkpoint of the job, until it is cancelled. */
final class NeverReady extends RichMapFunction<Long, Long> {

    private static final long serialVersionUID = 1L;

    @Override
    public void open(OpenContext context) throws InterruptedException {
        new CountDownLatch(1).await();
    }

    @Override
    public Long map(Long element) {
        return element;
    }
}

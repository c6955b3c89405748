package io.github.flinkpubsub.cluster;

import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

import java.util.concurrent.CountDownLatch;

/** A job of Flink alone, to tell what a cluster keeps of any job. Runs until it is cancelled. */
public final class EmptyJob {

    private EmptyJob() {}

    public static void main(String[] args) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.fromSequence(1, Long.MAX_VALUE)
                .map(EmptyJob::untilCancelled)
                .returns(Types.LONG)
                .sinkTo(new DiscardingSink<>());
        env.execute("empty job");
    }

    /** Flink interrupts the task that is cancelled. */
    private static Long untilCancelled(Long number) throws InterruptedException {
        new CountDownLatch(1).await();
        return number;
    }
}

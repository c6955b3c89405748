package io.github.flinkpubsub.cluster;

import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/** A job of Flink alone, to tell what a cluster keeps of any job. Runs until it is cancelled. */
public final class EmptyJob {
    private static final long PAUSE_MILLIS = 100;

    private EmptyJob() {}

    public static void main(String[] args) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.fromSequence(1, Long.MAX_VALUE)
                .map(EmptyJob::slowly)
                .returns(Types.LONG)
                .sinkTo(new DiscardingSink<>());
        env.execute("empty job");
    }

    private static Long slowly(Long number) throws InterruptedException {
        Thread.sleep(PAUSE_MILLIS);
        return number;
    }
}

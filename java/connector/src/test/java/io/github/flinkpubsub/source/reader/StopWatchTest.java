package io.github.flinkpubsub.source.reader;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.flinkpubsub.nativebridge.NativeBatch;
import io.github.flinkpubsub.source.StopCondition;

import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.time.Instant;

class StopWatchTest {

    private static final Instant END = Instant.ofEpochSecond(1_000, 500);
    private static final long SECOND = 1_000_000_000L;

    private static NativeBatch published(long seconds, int nanos) {
        NativeBatch batch = new NativeBatch(1, 1);
        batch.index()[8] = (int) (seconds >>> 32);
        batch.index()[9] = (int) seconds;
        batch.index()[10] = nanos;
        batch.filled(1, 0, 0);
        return batch;
    }

    @Test
    void silenceCountsFromTheLastMessageAndOnlyWhileWaiting() {
        StopWatch watch = new StopWatch(StopCondition.whenIdle(Duration.ofSeconds(3)));
        watch.waited(9 * SECOND);
        assertThat(watch.silent(END)).as("before there is a split").isFalse();
        watch.restart();
        watch.waited(2 * SECOND);
        watch.fetched(published(1, 0), 2 * SECOND);
        watch.waited(3 * SECOND - 1);
        assertThat(watch.silent(END)).isFalse();
        watch.waited(1);
        assertThat(watch.silent(END)).isTrue();
    }

    @Test
    void aPausedSplitIsNotSilent() {
        StopWatch watch = new StopWatch(StopCondition.whenIdle(Duration.ofSeconds(3)));
        watch.restart();
        watch.paused("a");
        watch.waited(9 * SECOND);
        assertThat(watch.silent(END)).isFalse();
        watch.resumed("a");
        assertThat(watch.silent(END)).isFalse();
        watch.waited(3 * SECOND);
        assertThat(watch.silent(END)).isTrue();
    }

    @Test
    void anEndNeedsItsTimeAndSilenceOfWhatIsOlder() {
        StopWatch watch = new StopWatch(StopCondition.at(END));
        watch.restart();
        watch.waited(10 * SECOND);
        assertThat(watch.silent(END.minusNanos(1))).isFalse();
        assertThat(watch.silent(END)).isTrue();
        watch.fetched(published(1_000, 499), 0);
        assertThat(watch.silent(END)).as("an older message came").isFalse();
        watch.waited(9 * SECOND);
        watch.fetched(published(1_000, 500), SECOND);
        assertThat(watch.silent(END)).as("a newer one is as good as none").isTrue();
    }
}

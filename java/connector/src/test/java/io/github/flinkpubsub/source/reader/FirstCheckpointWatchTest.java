package io.github.flinkpubsub.source.reader;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.flinkpubsub.PubSubException;

import org.junit.jupiter.api.Test;

import java.time.Duration;

class FirstCheckpointWatchTest {

    private static final long SECOND = 1_000_000_000;

    private final FirstCheckpointWatch watch = new FirstCheckpointWatch(Duration.ofSeconds(10));

    @Test
    void withoutMessagesNothingWaits() throws Exception {
        watch.check(1_000 * SECOND);
    }

    @Test
    void theFirstMessageStartsTheTime() throws Exception {
        watch.messagesFetched(-5 * SECOND);
        watch.messagesFetched(4 * SECOND);
        watch.check(5 * SECOND - 1);
        assertThatThrownBy(() -> watch.check(5 * SECOND))
                .isInstanceOf(PubSubException.class)
                .hasMessageContaining("no checkpoint has completed within PT10S")
                .hasMessageContaining("execution.checkpointing.interval")
                .hasMessageContaining("firstCheckpointTimeout");
    }

    @Test
    void aCheckpointEndsIt() throws Exception {
        watch.messagesFetched(0);
        watch.checkpointCompleted();
        watch.check(1_000 * SECOND);
    }

    @Test
    void zeroWaitsForEver() throws Exception {
        FirstCheckpointWatch off = new FirstCheckpointWatch(Duration.ZERO);
        off.messagesFetched(0);
        off.check(Long.MAX_VALUE);
    }
}

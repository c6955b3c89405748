package io.github.flinkpubsub.source.reader;

import io.github.flinkpubsub.nativebridge.NativeBatch;
import io.github.flinkpubsub.source.StopCondition;

import java.time.Instant;
import java.util.HashSet;
import java.util.Set;

/**
 * Finds out when a bounded source's reader has got everything. Used by the fetcher's thread alone.
 *
 * <p>Silence is time that was spent waiting for messages: while the job does not take what was
 * fetched, none passes.
 */
final class StopWatch {

    private final StopCondition condition;
    private final Set<String> pausedSplits = new HashSet<>();
    private boolean started;
    private long silentNanos;

    StopWatch(StopCondition condition) {
        this.condition = condition;
    }

    /** A split was added: silence counts from here. */
    void restart() {
        started = true;
        silentNanos = 0;
    }

    /** Nothing arrived for so long. */
    void waited(long nanos) {
        silentNanos += nanos;
    }

    /** Messages arrived after so long. */
    void fetched(NativeBatch messages, long nanos) {
        silentNanos += nanos;
        for (int message = 0; message < messages.count(); message++) {
            if (condition.includes(
                    messages.publishSeconds(message), messages.publishNanos(message))) {
                silentNanos = 0;
                return;
            }
        }
    }

    /** A split that is not read is not silent. */
    void paused(String split) {
        pausedSplits.add(split);
    }

    void resumed(String split) {
        pausedSplits.remove(split);
        silentNanos = 0;
    }

    /** Whether it has been silent for so long that nothing more is to come. */
    boolean silent(Instant now) {
        return started && pausedSplits.isEmpty() && condition.reached(silentNanos, now);
    }
}

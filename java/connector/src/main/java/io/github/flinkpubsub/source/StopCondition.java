package io.github.flinkpubsub.source;

import org.apache.flink.annotation.Internal;

import java.io.Serializable;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;

import javax.annotation.Nullable;

/**
 * When a bounded source ends. A subscription has no end and no order, so both conditions come down
 * to silence: a split ends when nothing (more) that belongs to the result has arrived for a while.
 */
@Internal
public final class StopCondition implements Serializable {

    private static final long serialVersionUID = 1L;

    /** How long nothing older than the end may arrive before a split that has an end time ends. */
    private static final Duration GRACE = Duration.ofSeconds(10);

    @Nullable private final Instant end;
    private final Duration silence;

    private StopCondition(@Nullable Instant end, Duration silence) {
        this.end = end;
        this.silence = silence;
    }

    /** Ends at a publish time. */
    public static StopCondition at(Instant end) {
        return new StopCondition(end, GRACE);
    }

    /** Ends with the first silence of this length. */
    public static StopCondition whenIdle(Duration silence) {
        return new StopCondition(null, silence);
    }

    /** Whether a message that was published then belongs to the result. */
    public boolean includes(long publishSeconds, int publishNanos) {
        return end == null
                || publishSeconds < end.getEpochSecond()
                || (publishSeconds == end.getEpochSecond() && publishNanos < end.getNano());
    }

    /** Whether there is a time beyond which messages do not belong to the result. */
    public boolean hasEnd() {
        return end != null;
    }

    /**
     * Whether a split ends.
     *
     * @param silentNanos since when nothing that belongs to the result has arrived
     * @param now the time of day
     */
    public boolean reached(long silentNanos, Instant now) {
        return silentNanos >= silence.toNanos() && (end == null || !now.isBefore(end));
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof StopCondition
                && Objects.equals(end, ((StopCondition) other).end)
                && silence.equals(((StopCondition) other).silence);
    }

    @Override
    public int hashCode() {
        return Objects.hash(end, silence);
    }

    @Override
    public String toString() {
        return end != null ? "at " + end : "when idle for " + silence;
    }
}

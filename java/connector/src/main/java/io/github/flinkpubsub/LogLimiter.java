package io.github.flinkpubsub;

import org.apache.flink.annotation.Internal;

/**
 * Decides which of many equal events are worth a line in the log: one in ten seconds. Not
 * thread-safe; the time is the caller's.
 */
@Internal
public final class LogLimiter {

    private static final long INTERVAL_NANOS = 10_000_000_000L;

    private boolean logged;
    private long lastNanos;
    private long since;

    /**
     * Counts an event.
     *
     * @param nowNanos a reading of {@link System#nanoTime()}
     * @return how many events there were since the last line, this one included, when a line is
     *     due; 0 when it is not
     */
    public long event(long nowNanos) {
        since++;
        if (logged && nowNanos - lastNanos < INTERVAL_NANOS) {
            return 0;
        }
        long events = since;
        logged = true;
        lastNanos = nowNanos;
        since = 0;
        return events;
    }
}

package io.github.flinkpubsub.cluster;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;

/** Waits for conditions. */
final class Await {
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private Await() {}

    /** What may not be there yet; what it throws counts as that. */
    interface Supplier<T> {
        T get() throws Exception;
    }

    /**
     * Looks until the value is as it should be, and answers it.
     *
     * @throws AssertionError when it is not within the time; tells the last value or failure
     */
    static <T> T until(String what, Duration limit, Supplier<T> value, Predicate<T> good) {
        long deadline = System.nanoTime() + limit.toNanos();
        Object last;
        do {
            try {
                T now = value.get();
                if (good.test(now)) {
                    return now;
                }
                last = now;
            } catch (Exception e) {
                last = e;
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        } while (System.nanoTime() < deadline && !Thread.currentThread().isInterrupted());
        AssertionError error =
                new AssertionError(what + " did not happen within " + limit + ", last: " + last);
        if (last instanceof Throwable) {
            error.initCause((Throwable) last);
        }
        throw error;
    }

    static void until(String what, Duration limit, Supplier<Boolean> condition) {
        until(what, limit, condition, Boolean::booleanValue);
    }
}

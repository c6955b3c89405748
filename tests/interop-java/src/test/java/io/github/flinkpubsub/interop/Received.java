package io.github.flinkpubsub.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What a reader got. Redeliveries are allowed (at least once); they must be equal and must not
 * bring new content out of order.
 */
final class Received {
    private static final Duration TIMEOUT = Duration.ofMinutes(2);

    private final Map<Integer, Event> byNumber = new HashMap<>();
    private final Map<String, Integer> lastByKey = new HashMap<>();
    private final List<String> disorder = new ArrayList<>();
    private final List<String> altered = new ArrayList<>();

    synchronized void add(Event event) {
        Event earlier = byNumber.putIfAbsent(event.number, event);
        if (earlier != null) {
            if (!earlier.equals(event)) {
                altered.add(earlier + " came again as " + event);
            }
            return;
        }
        Integer last = lastByKey.put(event.orderingKey, event.number);
        if (last != null && last > event.number) {
            disorder.add(event.orderingKey + ": " + event.number + " came after " + last);
        }
        notifyAll();
    }

    synchronized int size() {
        return byNumber.size();
    }

    /**
     * Waits for {@code count} different events and compares every one with what was sent, and maybe
     * the order within each key.
     */
    synchronized void assertHasAll(int count, boolean inOrder) throws InterruptedException {
        awaitSize(count);
        for (int number = 0; number < count; number++) {
            assertEquals(Event.numbered(number), byNumber.get(number));
        }
        assertEquals(List.of(), altered, "redeliveries that differ");
        if (inOrder) {
            assertEquals(List.of(), disorder, "order within a key");
        }
    }

    /** Waits for {@code count} different events. */
    synchronized void awaitSize(int count) throws InterruptedException {
        long deadline = System.nanoTime() + TIMEOUT.toNanos();
        while (byNumber.size() < count) {
            long left = (deadline - System.nanoTime()) / 1_000_000;
            if (left <= 0) {
                throw new AssertionError(
                        "Only " + byNumber.size() + " of " + count + " messages arrived");
            }
            wait(left);
        }
    }
}

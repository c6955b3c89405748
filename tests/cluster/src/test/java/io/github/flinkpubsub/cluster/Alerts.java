package io.github.flinkpubsub.cluster;

import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.testing.PubSubEmulator;

import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/** Pulls and acks the job's alerts on a thread of its own, and keeps what they say. */
final class Alerts implements AutoCloseable {
    private static final int AT_ONCE = 1_000;
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final Map<String, Integer> ids = new ConcurrentHashMap<>();
    private final Map<String, NavigableMap<Integer, Integer>> numbers = new ConcurrentHashMap<>();
    private final AtomicReference<RuntimeException> failure = new AtomicReference<>();
    private volatile boolean stopped;

    Alerts(PubSubEmulator server, String subscription) {
        Thread thread =
                new Thread(
                        () -> {
                            try {
                                while (!stopped) {
                                    if (!pull(server, subscription)) {
                                        LockSupport.parkNanos(PAUSE_NANOS);
                                    }
                                }
                            } catch (RuntimeException e) {
                                failure.set(e);
                            }
                        },
                        "alerts");
        thread.setDaemon(true);
        thread.start();
    }

    private boolean pull(PubSubEmulator server, String subscription) {
        boolean any = false;
        for (PubsubMessage message : server.pull(subscription, AT_ONCE)) {
            String[] fields = message.getData().toStringUtf8().split("\t");
            String network = fields[1];
            if (!message.getOrderingKey().equals(network)
                    || !message.getAttributesOrThrow("id").equals(fields[0])) {
                throw new IllegalStateException("key or attribute do not fit: " + message);
            }
            ids.merge(fields[0], 1, Integer::sum);
            numbers.computeIfAbsent(network, key -> new TreeMap<>())
                    .merge(Integer.parseInt(fields[2]), 1, Integer::sum);
            any = true;
        }
        return any;
    }

    /** The earthquakes that came so far, and how often. */
    Map<String, Integer> ids() {
        RuntimeException failed = failure.get();
        if (failed != null) {
            throw failed;
        }
        return ids;
    }

    /** Waits until so many more earthquakes have come. */
    void awaitMore(int more) {
        int before = ids().size();
        Await.until(
                more + " more alerts",
                FlinkCluster.LIMIT,
                () -> ids().size(),
                size -> size >= before + more);
    }

    /** Waits until these have come. */
    void awaitAll(Set<String> expected) {
        Await.until(
                "the last of " + expected.size() + " alerts",
                FlinkCluster.LIMIT,
                () -> expected.stream().filter(id -> !ids().containsKey(id)).count(),
                missing -> missing == 0);
    }

    /** For each network how often each number came; to be read once no more come. */
    Map<String, NavigableMap<Integer, Integer>> numbers() {
        return numbers;
    }

    @Override
    public void close() {
        stopped = true;
    }
}

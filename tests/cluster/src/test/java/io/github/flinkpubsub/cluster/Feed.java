package io.github.flinkpubsub.cluster;

import io.github.flinkpubsub.testing.PubSubEmulator;
import io.github.flinkpubsub.testing.SubscriptionState;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Publishes earthquakes on a thread of its own until it is told to stop, some thousand a second,
 * but no more than a reader that stands still leaves behind.
 */
final class Feed implements AutoCloseable {
    static final int NETWORKS = 8;

    /** So that all networks have as many, whenever it stops. */
    private static final int AT_ONCE = 3 * NETWORKS;

    private static final int LARGEST_BACKLOG = 5_000;
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    private final FutureTask<List<String>> task;
    private volatile boolean stopped;

    /** Starts to publish. */
    Feed(PubSubEmulator server, String topic, String subscription) {
        task =
                new FutureTask<>(
                        () -> {
                            List<String> ids = new ArrayList<>();
                            while (!stopped) {
                                if (unacked(server, subscription) < LARGEST_BACKLOG) {
                                    publish(server, topic, ids);
                                }
                                LockSupport.parkNanos(PAUSE_NANOS);
                            }
                            return ids;
                        });
        Thread thread = new Thread(task, "feed");
        thread.setDaemon(true);
        thread.start();
    }

    /** Messages of a subscription that wait or are leased. */
    static long unacked(PubSubEmulator server, String subscription) {
        SubscriptionState state = server.control().subscription(subscription);
        return state.backlog() + state.outstanding();
    }

    private static void publish(PubSubEmulator server, String topic, List<String> ids) {
        String[] lines = new String[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++) {
            int number = ids.size();
            String id = "e" + number;
            lines[i] =
                    String.format(
                            "2024-01-01T00:00:00.000Z,%s,n%d,4.5,10.0,0.0,0.0,here,earthquake",
                            id, number % NETWORKS);
            ids.add(id);
        }
        server.publish(topic, lines);
    }

    /** Stops; answers the ids of all that it has published. */
    List<String> stop() throws InterruptedException {
        stopped = true;
        try {
            return Collections.unmodifiableList(task.get());
        } catch (ExecutionException e) {
            throw new IllegalStateException("publishing failed", e.getCause());
        }
    }

    @Override
    public void close() {
        stopped = true;
    }
}

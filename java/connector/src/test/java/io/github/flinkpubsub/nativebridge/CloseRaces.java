package io.github.flinkpubsub.nativebridge;

import java.util.Arrays;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Clients that are closed while they are used, and used when they are closed; many times. */
public final class CloseRaces {

    private static final long LONG_MILLIS = 60_000;
    private static final long BOUND_SECONDS = 1;

    private CloseRaces() {}

    /** Arguments: endpoint, subscription, topic, rounds. */
    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[3]);
        ExecutorService executor = Executors.newFixedThreadPool(2);
        for (int round = 0; round < rounds; round++) {
            NativeOptions connection = new NativeOptions().put("emulator-endpoint", arguments[0]);
            // In every second round the library's threads end with these clients.
            NativeAdmin admin = round % 2 == 0 ? NativeAdmin.open(connection) : null;
            subscriber(executor, connection, arguments[1], round);
            publisher(executor, connection, arguments[2], round);
            if (admin != null) {
                admin.close();
                admin.close();
            }
        }
        executor.shutdown();
        System.out.println(rounds + " rounds");
    }

    private static void subscriber(
            ExecutorService executor, NativeOptions connection, String subscription, int round)
            throws Exception {
        NativeSubscriber subscriber = NativeSubscriber.open(connection);
        if (round % 3 > 0) {
            subscriber.addSplit(subscription);
        }
        CountDownLatch polling = new CountDownLatch(1);
        Future<Void> poll =
                executor.submit(
                        () -> {
                            NativeBatch batch = new NativeBatch(10_000, 10);
                            polling.countDown();
                            return endOrRefusal(() -> subscriber.poll(batch, LONG_MILLIS));
                        });
        polling.await();
        subscriber.close(round % 2);
        poll.get(BOUND_SECONDS, TimeUnit.SECONDS);
        subscriber.close(0);
        refused(() -> subscriber.addSplit(subscription));
        refused(() -> subscriber.poll(new NativeBatch(1, 1), 0));
        refused(
                () -> {
                    subscriber.complete(1, true);
                    return null;
                });
        require(subscriber.counters().length == SubscriberCounter.values().length);
    }

    private static void publisher(
            ExecutorService executor, NativeOptions connection, String topic, int round)
            throws Exception {
        NativePublisher publisher = NativePublisher.open(connection);
        byte[] message = {0x12, 0x03, 0x0a, 0x01, 'm'};
        int[] index = {message.length, publisher.topic(topic), 0, 0};
        publisher.append(message, message.length, index, 1, 0, new long[3]);
        CountDownLatch waiting = new CountDownLatch(1);
        Future<Void> wait =
                executor.submit(
                        () -> {
                            waiting.countDown();
                            return endOrRefusal(() -> publisher.await(LONG_MILLIS));
                        });
        waiting.await();
        publisher.close(round % 2);
        wait.get(BOUND_SECONDS, TimeUnit.SECONDS);
        publisher.close(0);
        refused(() -> publisher.topic(topic));
        refused(
                () -> {
                    publisher.append(message, message.length, index, 1, 0, new long[3]);
                    return null;
                });
        require(publisher.await(LONG_MILLIS) == Publisher.CLOSED);
        require(Arrays.stream(publisher.state()).allMatch(figure -> figure >= 0));
    }

    private static Void endOrRefusal(Callable<?> call) throws Exception {
        try {
            call.call();
        } catch (IllegalStateException e) {
            // It came after the close.
        }
        return null;
    }

    private static void refused(Callable<?> call) throws Exception {
        try {
            call.call();
        } catch (IllegalStateException e) {
            return;
        }
        throw new AssertionError("not refused after the close");
    }

    private static void require(boolean condition) {
        if (!condition) {
            throw new AssertionError();
        }
    }
}

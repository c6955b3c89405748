package io.github.flinkpubsub.source.reader;

import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.nativebridge.NativeBatch;
import io.github.flinkpubsub.nativebridge.Subscriber;
import io.github.flinkpubsub.nativebridge.SubscriberCounter;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;

/** Delivers what the test gives it, and writes down what it is asked for. */
final class FakeSubscriber implements Subscriber {

    private final List<String> calls = new ArrayList<>();
    private final Deque<Delivery> deliveries = new ArrayDeque<>();
    private int splits;
    private int unconfirmed;
    private boolean wokenUp;
    private IOException failure;

    /** Everything but polls and wake-ups, in order. */
    synchronized List<String> calls() {
        return new ArrayList<>(calls);
    }

    /** Messages of a split for the next polls. */
    synchronized void deliver(int split, long first, int[] flags, List<PubsubMessage> messages) {
        deliveries.add(new Delivery(split, first, flags, messages));
        notifyAll();
    }

    /** Makes so many questions for confirmation answer that it is not there. */
    synchronized void confirmAfter(int questions) {
        unconfirmed = questions;
    }

    /** Makes the next poll throw. */
    synchronized void fail(IOException failure) {
        this.failure = failure;
        notifyAll();
    }

    @Override
    public synchronized int addSplit(String subscription) {
        calls.add("addSplit " + subscription);
        return splits++;
    }

    @Override
    public synchronized void removeSplit(int split) {
        calls.add("removeSplit " + split);
    }

    @Override
    public synchronized void pause(int split, boolean paused) {
        calls.add((paused ? "pause " : "resume ") + split);
        notifyAll();
    }

    @Override
    public synchronized boolean poll(NativeBatch batch, long timeoutMillis) throws IOException {
        long deadline = System.nanoTime() + timeoutMillis * 1_000_000;
        while (deliveries.isEmpty() && !wokenUp && failure == null) {
            long left = (deadline - System.nanoTime()) / 1_000_000;
            if (left <= 0) {
                return false;
            }
            try {
                wait(left);
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
        }
        if (failure != null) {
            throw failure;
        }
        if (wokenUp) {
            wokenUp = false;
            return false;
        }
        Delivery next = deliveries.remove();
        Batches.fill(batch, next.split, next.first, next.messages, next.flags);
        return true;
    }

    @Override
    public synchronized void wakeUp() {
        wokenUp = true;
        notifyAll();
    }

    @Override
    public synchronized void snapshot(long checkpoint, int[] splits, long[] emitted) {
        calls.add(
                "snapshot "
                        + checkpoint
                        + " "
                        + Arrays.toString(splits)
                        + " "
                        + Arrays.toString(emitted));
    }

    @Override
    public synchronized void complete(long checkpoint, boolean confirm) {
        calls.add("complete " + checkpoint + (confirm ? " and confirm" : ""));
    }

    @Override
    public synchronized boolean confirmed(long timeoutMillis) {
        calls.add("confirmed?");
        return unconfirmed-- <= 0;
    }

    @Override
    public synchronized void nack(int split, long sequence) {
        calls.add("nack " + split + " " + sequence);
    }

    @Override
    public synchronized void leave(int split, long sequence) {
        calls.add("leave " + split + " " + sequence);
    }

    @Override
    public long[] counters() {
        long[] counters = new long[SubscriberCounter.values().length];
        for (int i = 0; i < counters.length; i++) {
            counters[i] = 100 + i;
        }
        return counters;
    }

    @Override
    public synchronized void close(long timeoutMillis) {
        calls.add("close");
    }

    private static final class Delivery {
        final int split;
        final long first;
        final int[] flags;
        final List<PubsubMessage> messages;

        Delivery(int split, long first, int[] flags, List<PubsubMessage> messages) {
            this.split = split;
            this.first = first;
            this.flags = flags;
            this.messages = messages;
        }
    }
}

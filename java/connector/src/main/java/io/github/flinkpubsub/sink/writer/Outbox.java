package io.github.flinkpubsub.sink.writer;

import io.github.flinkpubsub.OutgoingMessage;
import io.github.flinkpubsub.nativebridge.Publisher;
import io.github.flinkpubsub.sink.PubSubPublisherOptions;
import io.github.flinkpubsub.wire.InvalidMessageException;
import io.github.flinkpubsub.wire.MessageBlock;

import org.apache.flink.api.common.operators.ProcessingTimeService;

import java.io.IOException;
import java.util.concurrent.TimeUnit;

/**
 * Collects messages in a block and hands the block over when it is full, when its oldest message
 * has waited for the batch delay, or when told to. Belongs to the task's thread.
 */
final class Outbox {

    /** Larger blocks save nothing, and smaller ones call more often. */
    private static final int BLOCK_BYTES = 256 << 10;

    /** How often a timer looks again while a block waits for its hand-over. */
    private static final long BUSY_NANOS = 10_000_000;

    private final Publisher publisher;
    private final InFlightGate gate;
    private final Topics topics;
    private final ProcessingTimeService timers;
    private final SinkMetrics metrics;
    private final MessageBlock block;
    private final long maxCount;
    private final long maxInFlightMessages;
    private final long maxInFlightBytes;
    private final long delayNanos;

    private long oldestNanos;
    private boolean timerSet;
    private boolean handingOver;

    Outbox(
            Publisher publisher,
            InFlightGate gate,
            Topics topics,
            PubSubPublisherOptions options,
            ProcessingTimeService timers,
            SinkMetrics metrics) {
        this.publisher = publisher;
        this.gate = gate;
        this.topics = topics;
        this.timers = timers;
        this.metrics = metrics;
        maxInFlightMessages = options.maxInFlightMessages();
        maxInFlightBytes = options.maxInFlightBytes();
        delayNanos = options.batchDelayThreshold().toNanos();
        // A batch that is complete is not kept waiting for a fuller block.
        maxCount = Math.min(options.batchElementCountThreshold(), maxInFlightMessages);
        int bytes = Math.min(BLOCK_BYTES, options.batchRequestByteThreshold());
        block = new MessageBlock((int) Math.min(bytes, maxInFlightBytes));
    }

    /**
     * Checks a message, for the {@link #add} that follows; answers its size.
     *
     * @throws InvalidMessageException when the service would refuse it
     */
    int measure(OutgoingMessage message) throws InvalidMessageException {
        return block.measure(message);
    }

    /** Adds the message that was measured last; waits when too much is in flight. */
    void add(OutgoingMessage message, int topic, int size)
            throws IOException, InterruptedException {
        if (block.isFullFor(size)) {
            handOver();
        }
        if (block.isEmpty()) {
            oldestNanos = System.nanoTime();
            if (!timerSet) {
                setTimer(delayNanos);
            }
        }
        block.add(message, topic);
        if (block.count() >= maxCount || block.isFull()) {
            handOver();
        }
    }

    /** Hands over what is there; waits until it fits into the bounds. */
    void handOver() throws IOException, InterruptedException {
        if (block.isEmpty()) {
            return;
        }
        // While this waits, the mailbox runs timers, which must not hand over the same block.
        handingOver = true;
        try {
            long messages = maxInFlightMessages - block.count();
            long bytes = maxInFlightBytes - block.length();
            if (gate.mayBeAbove(messages, bytes, block.length())) {
                // A message above the bound goes when nothing else is in flight.
                gate.awaitRoom(Math.max(0, messages), Math.max(0, bytes), block.length());
            }
            append();
        } finally {
            handingOver = false;
        }
    }

    /** Hands over what is there without regard to the bounds, for a writer that is being closed. */
    void handOverAtOnce() throws IOException {
        if (!block.isEmpty()) {
            append();
        }
    }

    private void append() throws IOException {
        long age = System.nanoTime() - oldestNanos;
        publisher.append(
                block.data(), block.length(), block.index(), block.count(), age, gate.inFlight());
        metrics.sent(block, topics);
        block.clear();
    }

    private void setTimer(long delayNanos) {
        // Rounded up: a timer that comes too early has to be set again.
        long millis = TimeUnit.NANOSECONDS.toMillis(delayNanos + 999_999);
        timers.registerTimer(timers.getCurrentProcessingTime() + millis, time -> onTimer());
        timerSet = true;
    }

    /**
     * One timer serves many blocks: it is set again only for a block that is younger than the
     * delay.
     */
    private void onTimer() throws IOException, InterruptedException {
        timerSet = false;
        if (block.isEmpty()) {
            return;
        }
        long left = delayNanos - (System.nanoTime() - oldestNanos);
        if (handingOver) {
            // It is on its way; what comes into the block after it needs a timer.
            setTimer(Math.max(delayNanos, BUSY_NANOS));
        } else if (left > 0) {
            setTimer(left);
        } else {
            handOver();
        }
    }
}

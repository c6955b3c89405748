package io.github.flinkpubsub.source.reader;

import io.github.flinkpubsub.source.split.PubSubSplit;

import org.apache.flink.annotation.Internal;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiter;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;
import org.apache.flink.connector.base.source.reader.RecordEmitter;

import java.util.concurrent.CompletableFuture;

import javax.annotation.Nullable;

/**
 * Lets so many messages a second through, by Flink's limiter. Every permit of that one goes through
 * another thread, so at high rates a permit stands for several messages: a hundredth of a second's.
 * Belongs to the task's thread.
 */
@Internal
public final class MessageRateLimiter {

    private static final int PERMITS_PER_SECOND = 100;

    private final RateLimiter<PubSubSplit> limiter;
    private final int messagesPerPermit;
    private int messagesLeft;
    @Nullable private CompletableFuture<Void> permit;

    MessageRateLimiter(RateLimiter<PubSubSplit> limiter, int messagesPerPermit) {
        this.limiter = limiter;
        this.messagesPerPermit = messagesPerPermit;
    }

    /** A limiter of one subtask. */
    public static MessageRateLimiter perSecond(int messages) {
        int messagesPerPermit = messagesPerPermit(messages);
        // Its type has a parameter in Flink 2 and none in Flink 1.
        @SuppressWarnings("unchecked")
        RateLimiter<PubSubSplit> limiter =
                RateLimiterStrategy.perSecond(messages / (double) messagesPerPermit)
                        .createRateLimiter(1);
        return new MessageRateLimiter(limiter, messagesPerPermit);
    }

    static int messagesPerPermit(int messagesPerSecond) {
        return Math.max(1, messagesPerSecond / PERMITS_PER_SECOND);
    }

    /** Whether a message may be emitted now; asks for a permit when there is none. */
    public boolean mayEmit() {
        if (messagesLeft > 0) {
            return true;
        }
        if (permit == null) {
            permit = limiter.acquire().toCompletableFuture();
        }
        if (!permit.isDone()) {
            return false;
        }
        permit.join();
        permit = null;
        messagesLeft = messagesPerPermit;
        return true;
    }

    /** The emitter, counted: it is to be called only after {@link #mayEmit()} has said so. */
    public <E, T, S> RecordEmitter<E, T, S> counting(RecordEmitter<E, T, S> emitter) {
        return (message, output, split) -> {
            messagesLeft--;
            emitter.emitRecord(message, output, split);
        };
    }

    /** Whether a permit has been asked for and is not there yet. */
    public boolean isWaiting() {
        return permit != null && !permit.isDone();
    }

    /** Completes when the permit is there; only to be called while one is awaited. */
    public CompletableFuture<Void> available() {
        return permit;
    }
}

package io.github.flinkpubsub.source.reader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.flinkpubsub.source.split.PubSubSplit;

import org.apache.flink.api.connector.source.util.ratelimit.RateLimiter;
import org.apache.flink.connector.base.source.reader.RecordEmitter;
import org.junit.jupiter.api.Test;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;

class MessageRateLimiterTest {

    private final Deque<CompletableFuture<Void>> permits = new ArrayDeque<>();

    private final RateLimiter<PubSubSplit> limiter =
            new RateLimiter<>() {
                @Override
                public CompletionStage<Void> acquire(int events) {
                    assertThat(events).isEqualTo(1);
                    permits.add(new CompletableFuture<>());
                    return permits.getLast();
                }
            };

    private int emitted;

    private final RecordEmitter<String, String, String> emitter =
            (message, output, split) -> emitted++;

    private void emit(RecordEmitter<String, String, String> counted, int messages)
            throws Exception {
        for (int i = 0; i < messages; i++) {
            counted.emitRecord("m", null, "s");
        }
    }

    @Test
    void aPermitLetsItsMessagesThroughAndNoMore() throws Exception {
        MessageRateLimiter limited = new MessageRateLimiter(limiter, 3);
        RecordEmitter<String, String, String> counted = limited.counting(emitter);
        assertThat(limited.isWaiting()).isFalse();
        assertThat(limited.mayEmit()).isFalse();
        assertThat(limited.mayEmit()).isFalse();
        assertThat(permits).hasSize(1);
        assertThat(limited.isWaiting()).isTrue();
        assertThat(limited.available()).isNotDone();

        permits.getLast().complete(null);
        assertThat(limited.available()).isDone();
        assertThat(limited.isWaiting()).isFalse();
        for (int i = 0; i < 3; i++) {
            assertThat(limited.mayEmit()).isTrue();
            emit(counted, 1);
        }
        assertThat(limited.mayEmit()).isFalse();
        assertThat(permits).hasSize(2);
        assertThat(emitted).isEqualTo(3);
    }

    @Test
    void aFailedPermitFails() {
        MessageRateLimiter limited = new MessageRateLimiter(limiter, 1);
        limited.mayEmit();
        permits.getLast().completeExceptionally(new IllegalStateException("no permits"));
        assertThatThrownBy(limited::mayEmit).hasMessageContaining("no permits");
    }

    @Test
    void aPermitStandsForAHundredthOfASecondAtMost() {
        assertThat(MessageRateLimiter.messagesPerPermit(1)).isEqualTo(1);
        assertThat(MessageRateLimiter.messagesPerPermit(199)).isEqualTo(1);
        assertThat(MessageRateLimiter.messagesPerPermit(100_000)).isEqualTo(1_000);
    }

    @Test
    void flinksLimiterGivesPermitsAtTheRate() throws Exception {
        MessageRateLimiter limited = MessageRateLimiter.perSecond(20);
        RecordEmitter<String, String, String> counted = limited.counting(emitter);
        long start = System.nanoTime();
        for (int i = 0; i < 45; i++) {
            while (!limited.mayEmit()) {
                limited.available().get(10, TimeUnit.SECONDS);
            }
            emit(counted, 1);
        }
        // One second's may have been saved up; of the rest, each comes 50 ms after the one before.
        assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start))
                .isGreaterThanOrEqualTo(1_150);
    }
}

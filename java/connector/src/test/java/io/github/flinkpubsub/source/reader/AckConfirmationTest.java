package io.github.flinkpubsub.source.reader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.PubSubException.Status;

import org.junit.jupiter.api.Test;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

class AckConfirmationTest {

    private final FakeSubscriber subscriber = new FakeSubscriber();
    private final AtomicLong seconds = new AtomicLong();
    private final AckConfirmation confirmation =
            new AckConfirmation(subscriber, () -> TimeUnit.SECONDS.toNanos(seconds.getAndAdd(10)));

    @Test
    void asksUntilAllIsConfirmed() throws Exception {
        subscriber.confirmAfter(3);
        confirmation.await(5);
        assertThat(subscriber.calls()).hasSize(4).containsOnly("confirmed?");
    }

    @Test
    void anInterruptEndsTheWait() {
        subscriber.confirmAfter(Integer.MAX_VALUE);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> confirmation.await(5))
                .isInstanceOf(InterruptedException.class)
                .hasMessageContaining("checkpoint 5");
        assertThat(subscriber.calls()).hasSize(1);
    }

    @Test
    void failsAfterAMinute() {
        subscriber.confirmAfter(Integer.MAX_VALUE);
        assertThatThrownBy(() -> confirmation.await(5))
                .isInstanceOf(PubSubException.class)
                .hasMessageContaining("awaitAckConfirmation")
                .hasMessageContaining("checkpoint 5")
                .hasMessageContaining("60 s")
                .matches(e -> ((PubSubException) e).status() == Status.DEADLINE_EXCEEDED);
        assertThat(subscriber.calls()).hasSize(6);
    }
}

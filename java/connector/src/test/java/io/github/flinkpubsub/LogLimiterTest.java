package io.github.flinkpubsub;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class LogLimiterTest {

    @Test
    void oneLineInTenSecondsWithTheNumberOfEvents() {
        long second = 1_000_000_000;
        LogLimiter limiter = new LogLimiter();
        assertThat(limiter.event(5 * second)).isEqualTo(1);
        assertThat(limiter.event(6 * second)).isZero();
        assertThat(limiter.event(15 * second - 1)).isZero();
        assertThat(limiter.event(15 * second)).isEqualTo(3);
        assertThat(limiter.event(16 * second)).isZero();
    }
}

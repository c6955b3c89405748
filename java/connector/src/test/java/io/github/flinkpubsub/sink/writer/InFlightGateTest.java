package io.github.flinkpubsub.sink.writer;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** What the task waits for. */
class InFlightGateTest {

    private static final long MIB = 1 << 20;

    private final FakePublisher publisher = new FakePublisher(false);

    private InFlightGate gate(long batchBytes, long... inFlight) {
        InFlightGate gate = new InFlightGate(publisher, null, batchBytes);
        System.arraycopy(inFlight, 0, gate.inFlight(), 0, inFlight.length);
        return gate;
    }

    @Test
    void messagesAndBytes() {
        InFlightGate gate = gate(MIB, 3, 100, 0);
        assertThat(gate.mayBeAbove(3, 100, 0)).isFalse();
        assertThat(gate.mayBeAbove(2, 100, 0)).isTrue();
        assertThat(gate.mayBeAbove(3, 99, 0)).isTrue();
    }

    @Test
    void fourMebibytesOrFourRequestsMayBeUnwritten() {
        assertThat(gate(MIB, 1, 1, 4 * MIB).mayBeAbove(1, 1, 0)).isFalse();
        assertThat(gate(MIB, 1, 1, 4 * MIB + 1).mayBeAbove(1, 1, 0)).isTrue();
        assertThat(gate(1, 1, 1, 4 * MIB).mayBeAbove(1, 1, 0)).isFalse();
        assertThat(gate(10 * MIB, 1, 1, 40 * MIB).mayBeAbove(1, 1, 0)).isFalse();
        assertThat(gate(10 * MIB, 1, 1, 40 * MIB + 1).mayBeAbove(1, 1, 0)).isTrue();
    }

    @Test
    void theNextOfLargeMessagesMayWaitWhileOneIsWritten() {
        assertThat(gate(MIB, 1, 1, 9 * MIB).mayBeAbove(1, 1, 9 * MIB)).isFalse();
        assertThat(gate(MIB, 1, 1, 18 * MIB).mayBeAbove(1, 1, 9 * MIB)).isTrue();
    }

    @Test
    void whatWasSeenWhileWaitingIsRemembered() throws Exception {
        InFlightGate gate = gate(MIB, 1, 1, 5 * MIB);
        assertThat(gate.mayBeAbove(1, 1, 0)).isTrue();
        gate.await(1, 1, 0);
        assertThat(gate.mayBeAbove(1, 1, 0)).isFalse();
    }
}

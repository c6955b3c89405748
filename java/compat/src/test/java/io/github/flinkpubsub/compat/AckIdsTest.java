package io.github.flinkpubsub.compat;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class AckIdsTest {

    private final AckIds ids = new AckIds();

    @Test
    void aCheckpointTakesWhatItAndEarlierOnesSealed() {
        ids.add("a");
        ids.seal(1);
        ids.add("b");
        ids.seal(2);
        ids.add("c");
        ids.seal(3);
        ids.add("d");
        assertThat(ids.size()).isEqualTo(4);
        assertThat(ids.take(2)).containsExactly("a", "b");
        assertThat(ids.take(2)).isEmpty();
        assertThat(ids.take(4)).containsExactly("c");
        assertThat(ids.size()).isEqualTo(1);
    }
}

package io.github.flinkpubsub.source.reader;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class EmissionProgressTest {

    private final EmissionProgress progress = new EmissionProgress();

    private String changes() {
        EmissionProgress.Changes changes = progress.takeChanges();
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < changes.splits.length; i++) {
            text.append(changes.splits[i]).append(':').append(changes.done[i]).append(' ');
        }
        assertThat(changes.done).hasSameSizeAs(changes.splits);
        return text.toString().trim();
    }

    @Test
    void onlyWhatHasAdvancedSinceTheLastTime() {
        assertThat(changes()).isEmpty();
        progress.advance(0, 10);
        progress.advance(2, 7);
        progress.advance(0, 12);
        assertThat(changes()).isEqualTo("0:12 2:7");
        assertThat(changes()).isEmpty();
        progress.advance(2, 8);
        assertThat(changes()).isEqualTo("2:8");
    }

    @Test
    void neverBackwards() {
        progress.advance(1, 10);
        progress.advance(1, 9);
        assertThat(changes()).isEqualTo("1:10");
        progress.advance(1, 10);
        assertThat(changes()).isEmpty();
    }

    @Test
    void manySplits() {
        progress.advance(1_000, 1);
        progress.advance(3, 2);
        assertThat(changes()).isEqualTo("3:2 1000:1");
    }
}

package io.github.flinkpubsub.source.reader;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.flink.connector.testutils.source.reader.TestingReaderContext;
import org.junit.jupiter.api.Test;

import java.time.Duration;

/** That it finds checkpointing switched off is shown by the integration tests. */
class CheckpointingProbeTest {

    @Test
    void aContextThatDoesNotTellIsAccepted() throws Exception {
        CheckpointingProbe.check(new TestingReaderContext(), Duration.ofHours(1));
    }

    @Test
    void halfOfTheCeilingIsNear() {
        Duration hour = Duration.ofHours(1);
        assertThat(CheckpointingProbe.isNear(Duration.ofMinutes(30), hour)).isFalse();
        assertThat(CheckpointingProbe.isNear(Duration.ofMinutes(30).plusMillis(1), hour)).isTrue();
    }
}

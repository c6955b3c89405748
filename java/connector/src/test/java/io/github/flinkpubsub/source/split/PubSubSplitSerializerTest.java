package io.github.flinkpubsub.source.split;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.flinkpubsub.SubscriptionDestination;

import org.junit.jupiter.api.Test;

import java.nio.charset.StandardCharsets;

class PubSubSplitSerializerTest {

    private static final PubSubSplit SPLIT =
            new PubSubSplit(SubscriptionDestination.of("p", "sub"), 258);

    /** Length (2 bytes), the path, the index (4 bytes). */
    private static final byte[] VERSION_1 =
            ("\u0000\u001cprojects/p/subscriptions/sub" + "\u0000\u0000\u0001\u0002")
                    .getBytes(StandardCharsets.ISO_8859_1);

    private final PubSubSplitSerializer serializer = new PubSubSplitSerializer();

    @Test
    void writesVersion1() throws Exception {
        assertThat(serializer.getVersion()).isEqualTo(1);
        assertThat(serializer.serialize(SPLIT)).isEqualTo(VERSION_1);
    }

    @Test
    void readsVersion1() throws Exception {
        assertThat(serializer.deserialize(1, VERSION_1)).isEqualTo(SPLIT);
    }

    @Test
    void refusesOtherVersions() {
        assertThatThrownBy(() -> serializer.deserialize(2, VERSION_1))
                .hasMessage("a Pub/Sub split of version 2 is not known");
    }

    @Test
    void idsTellSplitsApart() {
        assertThat(SPLIT.splitId()).isEqualTo("projects/p/subscriptions/sub#258");
        assertThat(new PubSubSplit(SPLIT.subscription(), 0)).isNotEqualTo(SPLIT);
    }
}

package io.github.flinkpubsub.source.enumerator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.flinkpubsub.SubscriptionDestination;

import org.junit.jupiter.api.Test;

import java.nio.charset.StandardCharsets;
import java.util.LinkedHashSet;
import java.util.List;

class PubSubEnumeratorStateSerializerTest {

    private static final List<SubscriptionDestination> SUBSCRIPTIONS =
            List.of(SubscriptionDestination.of("p", "b"), SubscriptionDestination.of("p", "a"));

    /** Count (4 bytes), for each a length (2 bytes) and the path. */
    private static final byte[] VERSION_1 =
            ("\u0000\u0000\u0000\u0002"
                            + "\u0000\u001aprojects/p/subscriptions/b"
                            + "\u0000\u001aprojects/p/subscriptions/a")
                    .getBytes(StandardCharsets.ISO_8859_1);

    private final PubSubEnumeratorStateSerializer serializer =
            new PubSubEnumeratorStateSerializer();

    @Test
    void writesVersion1() throws Exception {
        assertThat(serializer.getVersion()).isEqualTo(1);
        assertThat(
                        serializer.serialize(
                                new PubSubEnumeratorState(new LinkedHashSet<>(SUBSCRIPTIONS))))
                .isEqualTo(VERSION_1);
    }

    @Test
    void readsVersion1() throws Exception {
        assertThat(serializer.deserialize(1, VERSION_1).subscriptions())
                .containsExactlyElementsOf(SUBSCRIPTIONS);
    }

    @Test
    void refusesOtherVersions() {
        assertThatThrownBy(() -> serializer.deserialize(0, VERSION_1))
                .hasMessage("a Pub/Sub source's state of version 0 is not known");
    }
}

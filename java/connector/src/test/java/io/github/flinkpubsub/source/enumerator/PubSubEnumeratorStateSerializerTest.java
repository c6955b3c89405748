package io.github.flinkpubsub.source.enumerator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;

import org.junit.jupiter.api.Test;

import java.nio.charset.StandardCharsets;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;

class PubSubEnumeratorStateSerializerTest {

    private static final List<SubscriptionDestination> SUBSCRIPTIONS =
            List.of(SubscriptionDestination.of("p", "bbb"), SubscriptionDestination.of("p", "aaa"));

    /** Count (4 bytes), for each a length (2 bytes) and the path. */
    private static final byte[] VERSION_1 =
            ("\u0000\u0000\u0000\u0002"
                            + "\u0000\u001cprojects/p/subscriptions/bbb"
                            + "\u0000\u001cprojects/p/subscriptions/aaa")
                    .getBytes(StandardCharsets.ISO_8859_1);

    /** The same, and the number of own subscriptions (4 bytes), topic and subscription of each. */
    private static final byte[] VERSION_2 =
            ("\u0000\u0000\u0000\u0002"
                            + "\u0000\u001cprojects/p/subscriptions/bbb"
                            + "\u0000\u001cprojects/p/subscriptions/aaa"
                            + "\u0000\u0000\u0000\u0001"
                            + "\u0000\u0015projects/p/topics/top"
                            + "\u0000\u001cprojects/p/subscriptions/aaa")
                    .getBytes(StandardCharsets.ISO_8859_1);

    private static final Map<TopicDestination, SubscriptionDestination> OWN =
            Map.of(TopicDestination.of("p", "top"), SubscriptionDestination.of("p", "aaa"));

    private final PubSubEnumeratorStateSerializer serializer =
            new PubSubEnumeratorStateSerializer();

    @Test
    void writesVersion2() throws Exception {
        assertThat(serializer.getVersion()).isEqualTo(2);
        assertThat(
                        serializer.serialize(
                                new PubSubEnumeratorState(new LinkedHashSet<>(SUBSCRIPTIONS), OWN)))
                .isEqualTo(VERSION_2);
    }

    @Test
    void readsVersion2() throws Exception {
        PubSubEnumeratorState state = serializer.deserialize(2, VERSION_2);
        assertThat(state.subscriptions()).containsExactlyElementsOf(SUBSCRIPTIONS);
        assertThat(state.ownSubscriptions()).isEqualTo(OWN);
    }

    @Test
    void readsVersion1() throws Exception {
        assertThat(serializer.deserialize(1, VERSION_1).subscriptions())
                .containsExactlyElementsOf(SUBSCRIPTIONS);
        assertThat(serializer.deserialize(1, VERSION_1).ownSubscriptions()).isEmpty();
    }

    @Test
    void refusesOtherVersions() {
        assertThatThrownBy(() -> serializer.deserialize(0, VERSION_1))
                .hasMessage("a Pub/Sub source's state of version 0 is not known");
    }
}

package io.github.flinkpubsub.sink;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.flinkpubsub.OutgoingMessage;
import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.PubSubException.Status;
import io.github.flinkpubsub.TopicDestination;

import org.junit.jupiter.api.Test;

import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

class DeadLetterTest {

    private static final TopicDestination LETTERS = TopicDestination.of("p", "letters");

    private static Map<String, String> letter(FailedMessage failed) throws Exception {
        Map<String, String> attributes = new LinkedHashMap<>();
        new DeadLetter(LETTERS)
                .handle(
                        failed,
                        new FailedMessageHandler.Context() {
                            @Override
                            public void publish(TopicDestination topic, OutgoingMessage message) {
                                assertThat(topic).isEqualTo(LETTERS);
                                assertThat(message.orderingKey()).isNull();
                                for (int i = 0; i < message.attributeCount(); i++) {
                                    attributes.put(
                                            message.attributeName(i), message.attributeValue(i));
                                }
                            }

                            @Override
                            public int subtaskIndex() {
                                return 5;
                            }

                            @Override
                            public long currentTimeMillis() {
                                return 1_714_972_089_123L;
                            }
                        });
        return attributes;
    }

    private static FailedMessage failed(Map<String, String> attributes, String key, String text) {
        return new FailedMessage(
                new byte[] {1},
                attributes,
                key,
                TopicDestination.of("p", "top"),
                new PubSubException(Status.INVALID_ARGUMENT, null, text));
    }

    @Test
    void tellsWhatHappened() throws Exception {
        assertThat(letter(failed(Map.of("own", "1"), "the key", "not legal")))
                .isEqualTo(
                        Map.of(
                                "own", "1",
                                "pubsub-failed-connector", "flink-connector-pubsub-native",
                                "pubsub-failed-destination", "projects/p/topics/top",
                                "pubsub-failed-ordering-key", "the key",
                                "pubsub-failed-error", "INVALID_ARGUMENT: not legal",
                                "pubsub-failed-time", "2024-05-06T05:08:09.123Z",
                                "pubsub-failed-subtask", "5"));
    }

    @Test
    void aFailureOfTheSerializerHasNoDestination() throws Exception {
        FailedMessage failed =
                new FailedMessage(
                        null,
                        Map.of(),
                        null,
                        null,
                        new PubSubException(Status.INVALID_ARGUMENT, null, "no payload"));
        assertThat(letter(failed))
                .containsEntry("pubsub-failed-destination", "")
                .doesNotContainKey("pubsub-failed-ordering-key");
    }

    @Test
    void whatIsNotLegalStaysBehind() throws Exception {
        Map<String, String> attributes = new LinkedHashMap<>();
        attributes.put("google", "v");
        attributes.put("n".repeat(257), "v");
        attributes.put("long", "v".repeat(1_025));
        attributes.put("half", "\ud83d");
        for (int i = 0; i < 100; i++) {
            attributes.put("a" + i, "v");
        }
        Map<String, String> letter = letter(failed(attributes, "k", "too much"));
        assertThat(letter).hasSize(100).containsKeys("a0", "a93").doesNotContainKeys("a94");
    }

    @Test
    void theErrorIsCutOnACharacter() {
        String cut = DeadLetter.cut("é😀".repeat(1_000));
        assertThat(cut).isEqualTo("é😀".repeat(170) + "é");
        assertThat(cut.getBytes(StandardCharsets.UTF_8)).hasSize(1_022);
        assertThat(DeadLetter.cut("x".repeat(1_024))).hasSize(1_024);
        assertThat(DeadLetter.cut("x".repeat(1_025))).hasSize(1_024);
        assertThat(DeadLetter.cut("half \ud83d!")).isEqualTo("half ?!");
    }
}

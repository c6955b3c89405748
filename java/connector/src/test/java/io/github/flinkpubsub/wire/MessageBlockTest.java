package io.github.flinkpubsub.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import com.google.pubsub.v1.PublishRequest;
import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.OutgoingMessage;

import org.junit.jupiter.api.Test;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;

/** The encoder against Google's classes, and against the service's limits. */
class MessageBlockTest {

    private final MessageBlock block = new MessageBlock(1 << 10);

    private static OutgoingMessage message(String payload) {
        return new OutgoingMessage().payload(payload.getBytes(StandardCharsets.UTF_8));
    }

    private void add(OutgoingMessage message, int topic) throws InvalidMessageException {
        int size = block.measure(message);
        int before = block.length();
        block.add(message, topic);
        assertThat(block.length() - before).isEqualTo(size);
    }

    private PublishRequest decoded() throws Exception {
        return PublishRequest.parseFrom(Arrays.copyOf(block.data(), block.length()));
    }

    @Test
    void knownBytes() throws Exception {
        add(message("ab").attribute("k", "v").orderingKey("o"), 3);
        assertThat(Arrays.copyOf(block.data(), block.length()))
                .isEqualTo(
                        new byte[] {
                            0x12, 15, 0x0a, 2, 'a', 'b', 0x12, 6, 0x0a, 1, 'k', 0x12, 1, 'v', 0x2a,
                            1, 'o'
                        });
        assertThat(Arrays.copyOf(block.index(), 4)).isEqualTo(new int[] {17, 3, 16, 1});
    }

    @Test
    void anyMessages() throws Exception {
        Random random = new Random(11);
        for (int round = 0; round < 300; round++) {
            block.clear();
            PublishRequest.Builder expected = PublishRequest.newBuilder();
            int count = 1 + random.nextInt(80);
            for (int i = 0; i < count; i++) {
                byte[] payload = new byte[random.nextInt(random.nextBoolean() ? 20 : 3_000)];
                random.nextBytes(payload);
                Map<String, String> attributes = new LinkedHashMap<>();
                for (int a = random.nextInt(5) + (payload.length == 0 ? 1 : 0); a > 0; a--) {
                    attributes.put("nam😀e" + a, "é".repeat(random.nextInt(200)));
                }
                String key = random.nextBoolean() ? "" : "k\u0000😀" + random.nextInt(1_000);
                add(
                        new OutgoingMessage()
                                .payload(payload)
                                .attributes(attributes)
                                .orderingKey(key),
                        i);
                expected.addMessages(
                        PubsubMessage.newBuilder()
                                .setData(ByteString.copyFrom(payload))
                                .putAllAttributes(attributes)
                                .setOrderingKey(key));
                int[] entry = Arrays.copyOfRange(block.index(), 4 * i, 4 * i + 4);
                assertThat(entry[0]).isEqualTo(block.length());
                assertThat(entry[1]).isEqualTo(i);
                assertThat(new String(block.data(), entry[2], entry[3], StandardCharsets.UTF_8))
                        .isEqualTo(key);
            }
            assertThat(block.count()).isEqualTo(count);
            assertThat(decoded()).isEqualTo(expected.build());
        }
    }

    /** The same objects come again and again, change one by one, and are refused in between. */
    @Test
    void attributesThatComeAgain() throws Exception {
        Random random = new Random(12);
        String[] names = {"a", "name", "é😀", "long".repeat(60)};
        String[] values = {"", "v", "value".repeat(100), "\u0000é"};
        String[] bad = {"x".repeat(1_025), "half \ud800"};
        PublishRequest.Builder expected = PublishRequest.newBuilder();
        Map<String, String> attributes = new LinkedHashMap<>();
        for (int i = 0; i < 2_000; i++) {
            if (random.nextInt(3) == 0) {
                attributes.clear();
                for (int a = random.nextInt(3); a >= 0; a--) {
                    attributes.put(names[random.nextInt(4)], values[random.nextInt(4)]);
                }
            }
            if (random.nextInt(4) == 0) {
                OutgoingMessage refused = message("p");
                attributes.forEach(refused::attribute);
                refused.attribute(names[random.nextInt(4)], bad[random.nextInt(2)]);
                assertThatThrownBy(() -> block.measure(refused))
                        .isInstanceOf(InvalidMessageException.class);
            }
            add(message("p").attributes(attributes), 0);
            expected.addMessages(
                    PubsubMessage.newBuilder()
                            .setData(ByteString.copyFromUtf8("p"))
                            .putAllAttributes(attributes));
        }
        assertThat(decoded()).isEqualTo(expected.build());
    }

    @Test
    void aPartOfAnArray() throws Exception {
        add(new OutgoingMessage().payload(new byte[] {1, 2, 3, 4}, 1, 2), 0);
        assertThat(decoded().getMessages(0).getData().toByteArray()).isEqualTo(new byte[] {2, 3});
    }

    @Test
    void fullWhenTheNextWouldNotFit() throws Exception {
        OutgoingMessage message = message("x".repeat(500));
        int size = block.measure(message);
        assertThat(block.isFullFor(2_000)).as("a large message goes into an empty block").isFalse();
        block.add(message, 0);
        assertThat(block.isFullFor(1_024 - size)).isFalse();
        assertThat(block.isFullFor(1_025 - size)).isTrue();
        assertThat(block.isFull()).isFalse();
        block.measure(message);
        block.add(message, 0);
        block.measure(message);
        block.add(message, 0);
        assertThat(block.isFull()).isTrue();
        block.clear();
        assertThat(block.isEmpty()).isTrue();
        assertThat(block.length()).isZero();
    }

    @Test
    void aLargeMessageDoesNotHoldItsMemory() throws Exception {
        add(new OutgoingMessage().payload(new byte[10_000_000]), 0);
        assertThat(decoded().getMessages(0).getData().size()).isEqualTo(10_000_000);
        block.clear();
        assertThat(block.data().length).isEqualTo(1 << 10);
    }

    @Test
    void readBackWhatWasWritten() throws Exception {
        add(message("pay").attribute("a", "é😀").attribute("b", "").orderingKey("key"), 0);
        WireMessage read = WireMessage.parse(Arrays.copyOf(block.data(), block.length()));
        assertThat(read.payload()).isEqualTo(new byte[] {'p', 'a', 'y'});
        assertThat(read.attributes()).isEqualTo(Map.of("a", "é😀", "b", ""));
        assertThat(read.orderingKey()).isEqualTo("key");
        block.clear();
        add(new OutgoingMessage().attribute("only", "this"), 0);
        read = WireMessage.parse(Arrays.copyOf(block.data(), block.length()));
        assertThat(read.payload()).isEmpty();
        assertThat(read.attributes()).isEqualTo(Map.of("only", "this"));
        assertThat(read.orderingKey()).isNull();
    }

    @Test
    void limitsAtTheirMaximum() throws Exception {
        add(new OutgoingMessage().payload(new byte[10_000_000]), 0);
        add(message("x").attribute("é".repeat(128), "v"), 0);
        add(message("x").attribute("a".repeat(256), "v"), 0);
        add(message("x").attribute("k", "é".repeat(512)), 0);
        add(message("x").orderingKey("😀".repeat(256)), 0);
        OutgoingMessage many = message("");
        for (int i = 0; i < 100; i++) {
            many.attribute("a" + i, "");
        }
        add(many, 0);
        assertThat(block.count()).isEqualTo(6);
    }

    @Test
    void limitsExceeded() {
        refused(
                new OutgoingMessage().payload(new byte[10_000_001]),
                "payload has 10000001 bytes, above the service's limit of 10000000");
        String name = "é".repeat(128) + "a";
        refused(
                message("x").attribute(name, "v"),
                "the name of attribute '"
                        + name
                        + "' has 257 bytes, above the service's limit of 256");
        refused(
                message("x").attribute("k", "é".repeat(512) + "a"),
                "the value of attribute 'k' has 1025 bytes, above the service's limit of 1024");
        refused(
                message("x").orderingKey("😀".repeat(256) + "a"),
                "ordering key has 1025 bytes, above the service's limit of 1024");
        refused(
                message("x").attribute("google", "v"),
                "the name of attribute 'google' starts with 'goog', which is reserved");
        refused(
                message(""),
                "a message has neither payload nor attributes, of which the service needs one");
        OutgoingMessage many = message("x");
        for (int i = 0; i < 101; i++) {
            many.attribute("a" + i, "");
        }
        refused(many, "a message has 101 attributes, above the service's limit of 100");
    }

    @Test
    void textThatIsNone() {
        refused(
                message("x").attribute("k", "ab\ud83d"),
                "the value of attribute 'k' has half of a surrogate pair at index 2 and cannot be"
                        + " written as UTF-8");
        refused(
                message("x").orderingKey("\ude00"),
                "ordering key has half of a surrogate pair at index 0 and cannot be written as"
                        + " UTF-8");
    }

    private void refused(OutgoingMessage message, String text) {
        assertThatThrownBy(() -> block.measure(message))
                .isInstanceOf(InvalidMessageException.class)
                .hasMessage(text);
        assertThat(block.isEmpty()).isTrue();
    }
}

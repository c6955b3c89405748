package io.github.flinkpubsub.source.reader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import com.google.protobuf.Timestamp;
import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.nativebridge.NativeBatch;

import org.junit.jupiter.api.Test;

import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Map;

class MessageViewTest {

    private static final SubscriptionDestination SUBSCRIPTION =
            SubscriptionDestination.of("p", "sub");

    private static final PubsubMessage RICH =
            PubsubMessage.newBuilder()
                    .setData(ByteString.copyFromUtf8("päy"))
                    .putAttributes("a", "é😀")
                    .putAttributes("nul", "x\u0000y")
                    .putAttributes("empty", "")
                    .setMessageId("id-1")
                    .setOrderingKey("key😀")
                    .setPublishTime(
                            Timestamp.newBuilder().setSeconds(1_700_000_000).setNanos(999_999_999))
                    .build();

    private static final PubsubMessage BARE =
            PubsubMessage.newBuilder()
                    .setMessageId("2")
                    .setPublishTime(Timestamp.newBuilder().setSeconds(-5_000_000_000L))
                    .build();

    private final NativeBatch batch = new NativeBatch(16, 1);
    private final MessageView view = new MessageView(batch);

    private MessageView at(int message) {
        Batches.fill(batch, 4, 1_000, List.of(RICH, BARE), new int[] {7 << 9, 0});
        view.start(SUBSCRIPTION);
        view.moveTo(message);
        return view;
    }

    @Test
    void everyPart() {
        MessageView message = at(0);
        assertThat(message.payloadBytes()).isEqualTo("päy".getBytes(StandardCharsets.UTF_8));
        assertThat(message.payloadSize()).isEqualTo(4);
        assertThat(message.payloadText(StandardCharsets.UTF_8)).isEqualTo("päy");
        assertThat(message.attributes())
                .isEqualTo(Map.of("a", "é😀", "nul", "x\u0000y", "empty", ""));
        assertThat(message.attribute("a")).isEqualTo("é😀");
        assertThat(message.attribute("empty")).isEmpty();
        assertThat(message.attribute("b")).isNull();
        assertThat(message.orderingKey()).isEqualTo("key😀");
        assertThat(message.messageId()).isEqualTo("id-1");
        assertThat(message.publishTime())
                .isEqualTo(Instant.ofEpochSecond(1_700_000_000, 999_999_999));
        assertThat(message.publishTimeMillis()).isEqualTo(1_700_000_000_999L);
        assertThat(message.deliveryAttempt()).isEqualTo(7);
        assertThat(message.subscription()).isEqualTo(SUBSCRIPTION);
        assertThat(message.encodedSize()).isEqualTo(RICH.getSerializedSize());
        assertThat(message.split()).isEqualTo(4);
        assertThat(message.sequence()).isEqualTo(1_000);
    }

    @Test
    void nothingButAnId() {
        MessageView message = at(1);
        assertThat(message.payloadBytes()).isEmpty();
        assertThat(message.payload().remaining()).isZero();
        assertThat(message.attributes()).isEmpty();
        assertThat(message.attribute("a")).isNull();
        assertThat(message.orderingKey()).isNull();
        assertThat(message.deliveryAttempt()).isZero();
        assertThat(message.publishTime()).isEqualTo(Instant.ofEpochSecond(-5_000_000_000L));
        assertThat(message.publishTimeMillis()).isEqualTo(-5_000_000_000_000L);
        assertThat(message.sequence()).isEqualTo(1_001);
    }

    @Test
    void theSliceShowsThePayloadAloneAndCannotBeWrittenTo() {
        ByteBuffer payload = at(0).payload();
        assertThat(payload.position()).isZero();
        assertThat(payload.capacity()).isEqualTo(4);
        assertThat(StandardCharsets.UTF_8.decode(payload).toString()).isEqualTo("päy");
        assertThatThrownBy(() -> payload.put(0, (byte) 1))
                .isInstanceOf(ReadOnlyBufferException.class);
    }

    @Test
    void theEncodedMessageIsTheWholeOne() throws Exception {
        ByteBuffer encoded = at(0).encoded();
        assertThat(encoded.isReadOnly()).isTrue();
        assertThat(PubsubMessage.parseFrom(encoded)).isEqualTo(RICH);
        assertThat(PubsubMessage.parseFrom(at(1).encoded())).isEqualTo(BARE);
    }

    @Test
    void theLastOfEqualNamesCounts() {
        // Two entries of one name, as a map in wire form may have: a=1, a=2.
        byte[] twice = {0x12, 6, 0x0a, 1, 'a', 0x12, 1, '1', 0x12, 6, 0x12, 1, '2', 0x0a, 1, 'a'};
        System.arraycopy(twice, 0, batch.data(), 0, twice.length);
        batch.index()[7] = twice.length;
        batch.index()[11] = 2;
        batch.filled(1, 0, 0);
        view.moveTo(0);
        assertThat(view.attributes()).isEqualTo(Map.of("a", "2"));
        assertThat(view.attribute("a")).isEqualTo("2");
    }
}

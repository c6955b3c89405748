package io.github.flinkpubsub.source.reader;

import io.github.flinkpubsub.PubSubMessage;
import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.nativebridge.NativeBatch;
import io.github.flinkpubsub.wire.AttributeScanner;

import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

import javax.annotation.Nullable;

/** One message of a batch; moved from message to message instead of being made anew. */
final class MessageView implements PubSubMessage {

    private final NativeBatch batch;
    private final AttributeScanner attributes = new AttributeScanner();
    private SubscriptionDestination subscription;
    private int at;

    MessageView(NativeBatch batch) {
        this.batch = batch;
    }

    void start(SubscriptionDestination subscription) {
        this.subscription = subscription;
    }

    void moveTo(int message) {
        at = message;
    }

    /** The native number of the message's split. */
    int split() {
        return batch.split();
    }

    /** The message's sequence number within its split. */
    long sequence() {
        return batch.first() + at;
    }

    /** The length of the encoded message. */
    int encodedSize() {
        return batch.messageLength(at);
    }

    /** The payload as text, without a copy of its bytes in between. */
    String payloadText(Charset charset) {
        return new String(batch.data(), batch.payloadOffset(at), batch.payloadLength(at), charset);
    }

    @Override
    public ByteBuffer payload() {
        return slice(batch.payloadOffset(at), batch.payloadLength(at));
    }

    @Override
    public ByteBuffer encoded() {
        return slice(batch.messageOffset(at), batch.messageLength(at));
    }

    @Override
    public byte[] payloadBytes() {
        int offset = batch.payloadOffset(at);
        return Arrays.copyOfRange(batch.data(), offset, offset + batch.payloadLength(at));
    }

    @Override
    public int payloadSize() {
        return batch.payloadLength(at);
    }

    @Override
    public Map<String, String> attributes() {
        Map<String, String> all = new LinkedHashMap<>();
        scanAttributes();
        while (attributes.next()) {
            all.put(attributes.name(), attributes.value());
        }
        return all;
    }

    @Override
    @Nullable
    public String attribute(String name) {
        if (batch.attributeCount(at) == 0) {
            return null;
        }
        byte[] wanted = name.getBytes(StandardCharsets.UTF_8);
        String found = null;
        scanAttributes();
        while (attributes.next()) {
            if (attributes.nameIs(wanted)) {
                // The last one counts, as in the map.
                found = attributes.value();
            }
        }
        return found;
    }

    @Override
    @Nullable
    public String orderingKey() {
        int length = batch.orderingKeyLength(at);
        return length == 0 ? null : text(batch.orderingKeyOffset(at), length);
    }

    @Override
    public String messageId() {
        return text(batch.messageIdOffset(at), batch.messageIdLength(at));
    }

    @Override
    public Instant publishTime() {
        return Instant.ofEpochSecond(batch.publishSeconds(at), batch.publishNanos(at));
    }

    @Override
    public long publishTimeMillis() {
        return batch.publishSeconds(at) * 1_000 + batch.publishNanos(at) / 1_000_000;
    }

    @Override
    public int deliveryAttempt() {
        return batch.deliveryAttempt(at);
    }

    @Override
    public SubscriptionDestination subscription() {
        return subscription;
    }

    @Override
    public String toString() {
        return "message " + messageId() + " of " + subscription;
    }

    private ByteBuffer slice(int offset, int length) {
        return ByteBuffer.wrap(batch.data(), offset, length).slice().asReadOnlyBuffer();
    }

    private void scanAttributes() {
        attributes.start(batch.data(), batch.messageOffset(at), batch.messageLength(at));
    }

    private String text(int offset, int length) {
        return new String(batch.data(), offset, length, StandardCharsets.UTF_8);
    }
}

package io.github.flinkpubsub;

import org.apache.flink.util.Collector;

import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A message without a service. */
public final class TestMessage implements PubSubMessage {

    static final Instant PUBLISHED = Instant.ofEpochSecond(7, 8);

    private final byte[] payload;
    private final Map<String, String> attributes;

    public TestMessage(byte[] payload, Map<String, String> attributes) {
        this.payload = payload;
        this.attributes = attributes;
    }

    /** What a schema makes of the message. */
    public <T> List<T> decode(PubSubDeserializationSchema<T> schema) throws Exception {
        List<T> records = new ArrayList<>();
        schema.deserialize(
                this,
                new Collector<>() {
                    @Override
                    public void collect(T record) {
                        records.add(record);
                    }

                    @Override
                    public void close() {}
                });
        return records;
    }

    @Override
    public ByteBuffer payload() {
        return ByteBuffer.wrap(payload).asReadOnlyBuffer();
    }

    @Override
    public byte[] payloadBytes() {
        return payload.clone();
    }

    @Override
    public int payloadSize() {
        return payload.length;
    }

    @Override
    public ByteBuffer encoded() {
        throw new UnsupportedOperationException();
    }

    @Override
    public Map<String, String> attributes() {
        return attributes;
    }

    @Override
    public String attribute(String name) {
        return attributes.get(name);
    }

    @Override
    public String orderingKey() {
        return "key";
    }

    @Override
    public String messageId() {
        return "12";
    }

    @Override
    public Instant publishTime() {
        return PUBLISHED;
    }

    @Override
    public long publishTimeMillis() {
        return PUBLISHED.toEpochMilli();
    }

    @Override
    public int deliveryAttempt() {
        return 0;
    }

    @Override
    public SubscriptionDestination subscription() {
        return SubscriptionDestination.of("p", "sub");
    }
}

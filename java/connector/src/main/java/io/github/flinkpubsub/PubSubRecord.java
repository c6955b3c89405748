package io.github.flinkpubsub;

import org.apache.flink.annotation.PublicEvolving;
import org.apache.flink.api.common.typeinfo.TypeInfo;

import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

import javax.annotation.Nullable;

/**
 * A whole message as a record of a stream: what {@link PubSubDeserializationSchema#records()} reads
 * and {@link PubSubSerializationSchema#records()} writes. It is immutable, and Flink serializes it
 * with a serializer of its own.
 */
@PublicEvolving
@TypeInfo(PubSubRecordTypeInfo.Factory.class)
public final class PubSubRecord {

    /** What a record may have beside its payload. */
    @PublicEvolving
    public enum Part {
        /** The attributes. */
        ATTRIBUTES,
        /** The id that the service gave the message. */
        MESSAGE_ID,
        /** When the service received the message. */
        PUBLISH_TIME,
        /** The ordering key. */
        ORDERING_KEY
    }

    private final byte[] payload;
    private final Map<String, String> attributes;
    @Nullable private final String messageId;
    @Nullable private final Instant publishTime;
    @Nullable private final String orderingKey;
    @Nullable private final TopicDestination topic;

    /** Takes the array and the map over, neither of which may change any more. */
    PubSubRecord(
            byte[] payload,
            Map<String, String> attributes,
            @Nullable String messageId,
            @Nullable Instant publishTime,
            @Nullable String orderingKey,
            @Nullable TopicDestination topic) {
        this.payload = payload;
        this.attributes = attributes;
        this.messageId = messageId;
        this.publishTime = publishTime;
        this.orderingKey = orderingKey == null || orderingKey.isEmpty() ? null : orderingKey;
        this.topic = topic;
    }

    /** A record with this payload, which is copied. */
    public static PubSubRecord of(byte[] payload) {
        return new PubSubRecord(
                OptionChecks.notNull("payload", payload).clone(),
                Collections.emptyMap(),
                null,
                null,
                null,
                null);
    }

    /** A record with the UTF-8 of a text as its payload. */
    public static PubSubRecord of(String text) {
        return of(OptionChecks.notNull("text", text).getBytes(StandardCharsets.UTF_8));
    }

    /** This record with one more attribute; one of the same name is replaced. */
    public PubSubRecord withAttribute(String name, String value) {
        return withAttributes(Collections.singletonMap(name, value));
    }

    /** This record with these attributes as well; those of the same name are replaced. */
    public PubSubRecord withAttributes(Map<String, String> more) {
        Map<String, String> all = new LinkedHashMap<>(attributes);
        OptionChecks.notNull("attributes", more)
                .forEach(
                        (name, value) ->
                                all.put(
                                        OptionChecks.notNull("the name of an attribute", name),
                                        OptionChecks.notNull(
                                                "the value of attribute '" + name + "'", value)));
        return new PubSubRecord(payload, all, messageId, publishTime, orderingKey, topic);
    }

    /** This record with an ordering key; null or empty for none. */
    public PubSubRecord withOrderingKey(@Nullable String key) {
        return new PubSubRecord(payload, attributes, messageId, publishTime, key, topic);
    }

    /**
     * This record with the topic that {@link
     * io.github.flinkpubsub.sink.DestinationResolver#ofRecord()} publishes it to.
     */
    public PubSubRecord withTopic(@Nullable TopicDestination topic) {
        return new PubSubRecord(payload, attributes, messageId, publishTime, orderingKey, topic);
    }

    /** A copy of the payload. */
    public byte[] payload() {
        return payload.clone();
    }

    /** The payload as UTF-8 text. */
    public String text() {
        return new String(payload, StandardCharsets.UTF_8);
    }

    /** The payload itself, for those who do not change it. */
    byte[] payloadArray() {
        return payload;
    }

    /** The attributes, unmodifiable. */
    public Map<String, String> attributes() {
        return Collections.unmodifiableMap(attributes);
    }

    /** One attribute, or null when there is none of that name. */
    @Nullable
    public String attribute(String name) {
        return attributes.get(name);
    }

    /** The id that the service gave the message; null for a record that was not read. */
    @Nullable
    public String messageId() {
        return messageId;
    }

    /** When the service received the message; null for a record that was not read. */
    @Nullable
    public Instant publishTime() {
        return publishTime;
    }

    /** The ordering key; null for none. */
    @Nullable
    public String orderingKey() {
        return orderingKey;
    }

    /** The topic to publish the record to; null when it names none. */
    @Nullable
    public TopicDestination topic() {
        return topic;
    }

    @Override
    public boolean equals(Object other) {
        if (this == other) {
            return true;
        }
        if (!(other instanceof PubSubRecord)) {
            return false;
        }
        PubSubRecord that = (PubSubRecord) other;
        return Arrays.equals(payload, that.payload)
                && attributes.equals(that.attributes)
                && Objects.equals(messageId, that.messageId)
                && Objects.equals(publishTime, that.publishTime)
                && Objects.equals(orderingKey, that.orderingKey)
                && Objects.equals(topic, that.topic);
    }

    @Override
    public int hashCode() {
        return 31 * Arrays.hashCode(payload)
                + Objects.hash(attributes, messageId, publishTime, orderingKey, topic);
    }

    /** Without the payload, of which it says the length. */
    @Override
    public String toString() {
        return "PubSubRecord("
                + payload.length
                + " bytes, attributes "
                + attributes
                + (messageId == null ? "" : ", message " + messageId)
                + (publishTime == null ? "" : ", published " + publishTime)
                + (orderingKey == null ? "" : ", key " + orderingKey)
                + (topic == null ? "" : ", topic " + topic)
                + ")";
    }
}

package io.github.flinkpubsub.sink;

import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.TopicDestination;

import org.apache.flink.annotation.Internal;
import org.apache.flink.annotation.PublicEvolving;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

import javax.annotation.Nullable;

/**
 * A record that could not be made a message, or a message that the service would refuse or has
 * refused.
 */
@PublicEvolving
public final class FailedMessage {

    @Nullable private final byte[] payload;
    private final Map<String, String> attributes;
    @Nullable private final String orderingKey;
    @Nullable private final TopicDestination destination;
    private final PubSubException cause;

    @Internal
    public FailedMessage(
            @Nullable byte[] payload,
            Map<String, String> attributes,
            @Nullable String orderingKey,
            @Nullable TopicDestination destination,
            PubSubException cause) {
        this.payload = payload;
        this.attributes = Collections.unmodifiableMap(new LinkedHashMap<>(attributes));
        this.orderingKey = orderingKey;
        this.destination = destination;
        this.cause = cause;
    }

    /** The payload; null when the serializer failed. */
    @Nullable
    public byte[] payload() {
        return payload;
    }

    /** The attributes; empty when there are none or the serializer failed. */
    public Map<String, String> attributes() {
        return attributes;
    }

    /** The ordering key; null when there is none. */
    @Nullable
    public String orderingKey() {
        return orderingKey;
    }

    /** The topic; null when the failure came before it was known. */
    @Nullable
    public TopicDestination destination() {
        return destination;
    }

    /** Why the message failed. */
    public PubSubException cause() {
        return cause;
    }
}

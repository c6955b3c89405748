package io.github.flinkpubsub;

import org.apache.flink.annotation.PublicEvolving;

import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.Map;

import javax.annotation.Nullable;

/**
 * A received message. It is a view onto a buffer that is used again: valid only during the call
 * that is given it, and only on that thread. What must outlive the call has to be copied out.
 */
@PublicEvolving
public interface PubSubMessage {

    /** The payload without copying it, read-only; as short-lived as this view. */
    ByteBuffer payload();

    /** The payload, copied. */
    byte[] payloadBytes();

    /** The payload's length in bytes. */
    int payloadSize();

    /**
     * The whole message as a {@code google.pubsub.v1.PubsubMessage} in the form of protobuf,
     * without copying it, read-only; as short-lived as this view.
     */
    ByteBuffer encoded();

    /**
     * All attributes, decoded at each call into a new map that may be kept; empty when there are
     * none.
     */
    Map<String, String> attributes();

    /**
     * One attribute, or null when the message has none of that name; cheaper than the whole map.
     */
    @Nullable
    String attribute(String name);

    /** The ordering key, or null when the message has none. */
    @Nullable
    String orderingKey();

    /** The id that the service gave the message, unique within its topic. */
    String messageId();

    /** When the service received the message, to the nanosecond. */
    Instant publishTime();

    /** When the service received the message, in milliseconds since the epoch. */
    long publishTimeMillis();

    /**
     * How often the service has tried to deliver the message, as well as it knows; 0 when it does
     * not count, which it does only for subscriptions with a dead-letter policy.
     */
    int deliveryAttempt();

    /** The subscription that delivered the message. */
    SubscriptionDestination subscription();
}

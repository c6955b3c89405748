package io.github.flinkpubsub.testing;

import java.util.Collections;
import java.util.Map;
import java.util.Optional;

/** A message as one subscription sees it. */
public final class MessageState {
    /** Waits to be delivered. */
    public static final String WAITING = "waiting";

    /** Is delivered and leased. */
    public static final String OUTSTANDING = "outstanding";

    /** Is acked. */
    public static final String ACKED = "acked";

    private String messageId;
    private String state;
    private int deliveryAttempt;
    private String ackId;
    private String data;
    private long dataBytes;
    private Map<String, String> attributes = Collections.emptyMap();
    private String orderingKey;

    private MessageState() {}

    /** The id that Publish answered. */
    public String messageId() {
        return messageId;
    }

    /** {@link #WAITING}, {@link #OUTSTANDING} or {@link #ACKED}. */
    public String state() {
        return state;
    }

    /** How often it was delivered. */
    public int deliveryAttempt() {
        return deliveryAttempt;
    }

    /** Its current ack id, while it is outstanding. */
    public Optional<String> ackId() {
        return Optional.ofNullable(ackId);
    }

    /** The first bytes of its data as text; absent when the server no longer keeps the message. */
    public Optional<String> data() {
        return Optional.ofNullable(data);
    }

    /** Length of its data. */
    public long dataBytes() {
        return dataBytes;
    }

    /** Its attributes. */
    public Map<String, String> attributes() {
        return Collections.unmodifiableMap(attributes);
    }

    /** Its ordering key, empty without one. */
    public String orderingKey() {
        return orderingKey == null ? "" : orderingKey;
    }
}

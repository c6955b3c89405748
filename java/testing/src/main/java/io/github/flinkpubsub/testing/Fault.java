package io.github.flinkpubsub.testing;

import com.google.gson.JsonObject;

/**
 * Which calls go wrong, and how. Faults are looked at in the order in which they were added; the
 * first one that hits a call acts.
 *
 * <pre>{@code
 * // The 10th publish fails, twice.
 * emulator.control().addFault(
 *         Fault.on("Publish", FaultAction.status(Status.Code.UNAVAILABLE, "try later"))
 *                 .skip(9)
 *                 .times(2));
 * }</pre>
 *
 * <p>Not thread-safe; each method changes the fault and answers it.
 */
public final class Fault {
    private final JsonObject rule = new JsonObject();
    private final JsonObject match = new JsonObject();

    private Fault(String method, FaultAction action) {
        rule.addProperty("method", method);
        rule.add("action", action.json());
    }

    /**
     * A fault of every call of a method.
     *
     * @param method the call without its service, such as {@code Publish}; {@code *} is every call
     */
    public static Fault on(String method, FaultAction action) {
        return new Fault(method, action);
    }

    /** A name to remove it by; the server gives one otherwise. */
    public Fault id(String id) {
        rule.addProperty("id", id);
        return this;
    }

    /** Only calls about this resource; {@code *} at its end stands for anything. */
    public Fault resource(String name) {
        rule.addProperty("resource", name);
        return this;
    }

    /** Lets so many matching calls pass before the first hit; 0 unless set. */
    public Fault skip(long calls) {
        rule.addProperty("skip", calls);
        return this;
    }

    /** Hits every n-th matching call; 1 unless set. */
    public Fault every(long calls) {
        rule.addProperty("every", calls);
        return this;
    }

    /** Hits so often at most; without end unless set. */
    public Fault times(long hits) {
        rule.addProperty("times", hits);
        return this;
    }

    /** Of StreamingPull: acts once the stream has delivered so many messages. */
    public Fault afterMessages(long messages) {
        rule.addProperty("after_messages", messages);
        return this;
    }

    /** Of unary calls: does what the call asks for and acts on the answer, which is then lost. */
    public Fault afterEffect() {
        rule.addProperty("after_effect", true);
        return this;
    }

    /** Only when the data of a message contains this text. */
    public Fault whenDataContains(String text) {
        match.addProperty("data_contains", text);
        return this;
    }

    /** Only when a message has this attribute. */
    public Fault whenAttribute(String key, String value) {
        JsonObject attribute = new JsonObject();
        attribute.addProperty("key", key);
        attribute.addProperty("value", value);
        match.add("attribute", attribute);
        return this;
    }

    /** Only when a message has this ordering key. */
    public Fault whenOrderingKey(String key) {
        match.addProperty("ordering_key", key);
        return this;
    }

    /** Only when the request names this ack id. */
    public Fault whenAckId(String ackId) {
        match.addProperty("ack_id", ackId);
        return this;
    }

    /** Only when the request has at least so many encoded bytes. */
    public Fault whenBytesAtLeast(long bytes) {
        match.addProperty("min_bytes", bytes);
        return this;
    }

    JsonObject json() {
        JsonObject all = rule.deepCopy();
        if (match.size() > 0) {
            all.add("match", match);
        }
        return all;
    }
}

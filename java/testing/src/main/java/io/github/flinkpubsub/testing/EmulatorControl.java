package io.github.flinkpubsub.testing;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Makes things go wrong on a {@link PubSubEmulator}, moves its time and shows what is inside. Names
 * are full resource names. Methods block until the server has done what they ask for, may be called
 * by any thread, and throw {@link EmulatorException} when the server refuses.
 */
public final class EmulatorControl {
    private final String endpoint;
    private final ControlClient client;

    EmulatorControl(String endpoint) {
        this.endpoint = endpoint;
        client = new ControlClient(endpoint);
    }

    /** {@code host:port} of the control interface; a browser sees the status page there. */
    public String endpoint() {
        return endpoint;
    }

    /** Adds a fault; answers its id. */
    public String addFault(Fault fault) {
        return client.post("/faults", fault.json(), JsonObject.class).get("id").getAsString();
    }

    /** The faults with what they did so far, in the order in which they were added. */
    public List<FaultState> faults() {
        return client.get("/faults", Faults.class).faults;
    }

    /** Removes a fault; calls that it holds go on. */
    public void removeFault(String id) {
        client.delete(ControlClient.path("/faults", "id", id));
    }

    /** Removes all faults. */
    public void removeFaults() {
        client.delete("/faults");
    }

    /** The server's time. */
    public Instant now() {
        return instant(client.get("/clock", JsonObject.class));
    }

    /**
     * Moves the server's time on, in whole milliseconds. What is due by then, such as leases that
     * end, is done before the method returns.
     *
     * @return the new time
     */
    public Instant advance(Duration duration) {
        return instant(
                client.post(
                        "/clock/advance", object("millis", duration.toMillis()), JsonObject.class));
    }

    /** Stops the clock; only {@link #advance} moves it then. */
    public void stopClock() {
        client.post("/clock/stop", new JsonObject());
    }

    /** Lets the clock go on from where it is. */
    public void resumeClock() {
        client.post("/clock/resume", new JsonObject());
    }

    /** Starts or stops recording requests and remembering acked messages; off at the start. */
    public void record(boolean on) {
        client.post("/record", object("on", on));
    }

    /** The recorded requests, oldest first. */
    public List<RecordedRequest> requests() {
        return requests("");
    }

    /** The recorded requests of a method, such as {@code Publish}, oldest first. */
    public List<RecordedRequest> requests(String method) {
        List<RecordedRequest> all = new ArrayList<>();
        long after = 0;
        while (true) {
            List<RecordedRequest> page =
                    client.get(
                                    ControlClient.path(
                                            "/requests",
                                            "method",
                                            method,
                                            "after",
                                            Long.toString(after)),
                                    Requests.class)
                            .requests;
            if (page.isEmpty()) {
                return all;
            }
            all.addAll(page);
            after = page.get(page.size() - 1).number();
        }
    }

    /** Forgets recorded requests and the counts of calls. */
    public void forgetRequests() {
        client.delete("/requests");
    }

    /** Calls so far by method; counted whether requests are recorded or not. */
    public Map<String, Long> calls() {
        Map<String, Long> calls = new LinkedHashMap<>();
        client.get("/calls", JsonObject.class)
                .entrySet()
                .forEach(call -> calls.put(call.getKey(), call.getValue().getAsLong()));
        return calls;
    }

    /** A subscription's numbers. */
    public SubscriptionState subscription(String name) {
        return client.get(
                ControlClient.path("/subscription", "name", name), SubscriptionState.class);
    }

    /** The messages of a subscription that are not acked; acked ones too while recording is on. */
    public List<MessageState> messages(String subscription) {
        return messages(subscription, "");
    }

    /** The messages of a subscription in a state, such as {@link MessageState#OUTSTANDING}. */
    public List<MessageState> messages(String subscription, String state) {
        String path =
                ControlClient.path(
                        "/messages",
                        "subscription",
                        subscription,
                        "state",
                        state,
                        "limit",
                        Integer.toString(Integer.MAX_VALUE));
        return client.get(path, Messages.class).messages;
    }

    /**
     * Ends leases as if their deadlines had passed.
     *
     * @param messageIds all of the subscription without any
     * @return leases ended
     */
    public int redeliver(String subscription, String... messageIds) {
        JsonObject body = object("subscription", subscription);
        if (messageIds.length > 0) {
            body.add("message_ids", ControlClient.GSON.toJsonTree(messageIds));
        }
        return client.post("/redeliver", body, JsonObject.class).get("redelivered").getAsInt();
    }

    /**
     * Does an action to the open streams of a subscription.
     *
     * @return streams it was done to
     */
    public int closeStreams(String subscription, FaultAction action) {
        JsonObject body = object("subscription", subscription);
        body.add("action", action.json());
        return client.post("/streams/close", body, JsonObject.class).get("streams").getAsInt();
    }

    /**
     * Closes all connections of clients.
     *
     * @param how {@code goaway}, {@code drop} or {@code reset}
     * @return connections closed
     */
    public int closeConnections(String how) {
        return client.post("/connections/close", object("how", how), JsonObject.class)
                .get("connections")
                .getAsInt();
    }

    /** Acknowledge calls of a subscription are neither done nor answered until released. */
    public void freezeAcks(String subscription) {
        client.post("/acks/freeze", object("subscription", subscription));
    }

    /** Lets frozen Acknowledge calls go on. */
    public void releaseAcks() {
        client.post("/acks/release", new JsonObject());
    }

    /**
     * From here on, only calls with a bearer token that was granted something are let in, others
     * get {@code UNAUTHENTICATED}. This token has these roles, such as {@code
     * roles/pubsub.publisher} (publisher, subscriber, viewer, editor), and single permissions, such
     * as {@code pubsub.topics.publish}; calls that need others get {@code PERMISSION_DENIED}.
     */
    public void grant(String token, String... rolesAndPermissions) {
        JsonArray roles = new JsonArray();
        JsonArray permissions = new JsonArray();
        for (String name : rolesAndPermissions) {
            (name.startsWith("roles/") ? roles : permissions).add(name);
        }
        JsonObject body = object("token", token);
        body.add("roles", roles);
        body.add("permissions", permissions);
        client.post("/permissions", body);
    }

    /** From here on calls with this token are not let in, as when it has ended. */
    public void revoke(String token) {
        client.delete(ControlClient.path("/permissions", "token", token));
    }

    /** Lets everybody do everything again, as at the start. */
    public void clearPermissions() {
        client.delete("/permissions");
    }

    /** Sets the length of ack ids from now on, in bytes: 24 to 65,536; 180 at the start. */
    public void setAckIdBytes(int bytes) {
        client.post("/ack-ids", object("length", bytes));
    }

    /** Sets the size of StreamingPull responses: 1,000 messages and 524,288 bytes at the start. */
    public void setResponseSize(int maxMessages, int maxBytes) {
        JsonObject body = object("max_messages", maxMessages);
        body.addProperty("max_bytes", maxBytes);
        client.post("/responses", body);
    }

    /**
     * Deletes topics, subscriptions, snapshots, faults, roles and records; the clock stays as it
     * is.
     */
    public void reset() {
        client.post("/reset", new JsonObject());
    }

    private static Instant instant(JsonObject clock) {
        long nanos = clock.get("now_nanos").getAsLong();
        return Instant.ofEpochSecond(0, nanos);
    }

    private static JsonObject object(String name, Object value) {
        JsonObject object = new JsonObject();
        object.add(name, ControlClient.GSON.toJsonTree(value));
        return object;
    }

    private static final class Faults {
        private List<FaultState> faults;
    }

    private static final class Requests {
        private List<RecordedRequest> requests;
    }

    private static final class Messages {
        private List<MessageState> messages;
    }
}

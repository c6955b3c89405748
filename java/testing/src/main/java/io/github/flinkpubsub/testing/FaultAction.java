package io.github.flinkpubsub.testing;

import com.google.gson.JsonNull;
import com.google.gson.JsonObject;

import io.grpc.Status;

import java.time.Duration;

/** What happens to a call, a stream or a connection that a {@link Fault} hits. Immutable. */
public final class FaultAction {
    private final JsonObject json;

    private FaultAction(String type) {
        json = new JsonObject();
        json.addProperty("type", type);
    }

    private FaultAction with(String name, String value) {
        json.addProperty(name, value);
        return this;
    }

    private FaultAction with(String name, Number value) {
        json.addProperty(name, value);
        return this;
    }

    /** Answers with a status; on a stream, {@code OK} is a clean end. */
    public static FaultAction status(Status.Code code, String message) {
        return new FaultAction("status").with("code", code.name()).with("message", message);
    }

    /** No answer; a stream stays open and sends nothing. */
    public static FaultAction silence() {
        return new FaultAction("silence");
    }

    /** Goes on after a pause of real time, in whole milliseconds. */
    public static FaultAction delay(Duration pause) {
        return new FaultAction("delay").with("ms", pause.toMillis());
    }

    /** Goes on when the fault is removed. */
    public static FaultAction hold() {
        return new FaultAction("hold");
    }

    /** GOAWAY without an answer; the connection is closed after this time. */
    public static FaultAction goAway(Duration closeAfter) {
        return new FaultAction("goaway").with("close_after_ms", closeAfter.toMillis());
    }

    /** GOAWAY; the call goes on, only new calls are refused on this connection. */
    public static FaultAction goAwayAndGoOn() {
        FaultAction action = new FaultAction("goaway");
        action.json.add("close_after_ms", JsonNull.INSTANCE);
        return action;
    }

    /** {@code RST_STREAM} with an HTTP/2 error code, such as 0 for {@code NO_ERROR}. */
    public static FaultAction rstStream(int code) {
        return new FaultAction("rst_stream").with("code", code);
    }

    /** Closes the connection. */
    public static FaultAction drop() {
        return new FaultAction("drop");
    }

    /** Closes the connection with a TCP reset. */
    public static FaultAction reset() {
        return new FaultAction("reset");
    }

    /**
     * Of Acknowledge and ModifyAckDeadline, the first ids fail in an {@code ErrorInfo}, the others
     * are done.
     *
     * @param reason such as {@code TRANSIENT_FAILURE_SERVICE_UNAVAILABLE}
     * @param count ids that fail
     */
    public static FaultAction failAckIds(String reason, int count) {
        return new FaultAction("fail_ack_ids").with("reason", reason).with("count", count);
    }

    /** Delivers each message of a response twice; the second copy's ack id is the valid one. */
    public static FaultAction duplicate() {
        return new FaultAction("duplicate");
    }

    /** Turns the order of the messages in a response around. */
    public static FaultAction reverse() {
        return new FaultAction("reorder").with("order", "reverse");
    }

    /** Moves the first message of a response to its end. */
    public static FaultAction rotate() {
        return new FaultAction("reorder").with("order", "rotate");
    }

    JsonObject json() {
        return json;
    }
}

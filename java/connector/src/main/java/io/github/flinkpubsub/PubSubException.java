package io.github.flinkpubsub;

import org.apache.flink.annotation.PublicEvolving;

import java.io.IOException;

import javax.annotation.Nullable;

/**
 * A failure of Pub/Sub or of the connection to it. The message says what to do: the missing
 * permission, the option or the limit.
 */
@PublicEvolving
public class PubSubException extends IOException {

    private static final long serialVersionUID = 1L;

    private final Status status;
    @Nullable private final String resource;

    /**
     * @param status the gRPC status
     * @param resource name of the subscription or topic, null when the failure belongs to none
     * @param message what happened and what to do
     */
    public PubSubException(Status status, @Nullable String resource, String message) {
        this(status, resource, message, null);
    }

    /**
     * @param status the gRPC status
     * @param resource name of the subscription or topic, null when the failure belongs to none
     * @param message what happened and what to do
     * @param cause what led to it, or null
     */
    public PubSubException(
            Status status, @Nullable String resource, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.status = status;
        this.resource = resource;
    }

    /** The gRPC status. */
    public Status status() {
        return status;
    }

    /**
     * Name of the subscription or topic, such as {@code projects/p/topics/t}; null when there is
     * none.
     */
    @Nullable
    public String resource() {
        return resource;
    }

    @Override
    public String getMessage() {
        String what = super.getMessage();
        String text = what.startsWith(status.name()) ? what : status + ": " + what;
        return resource == null || text.contains(resource) ? text : text + " [" + resource + "]";
    }

    /** The gRPC status codes, in the order of their numbers. */
    @PublicEvolving
    public enum Status {
        /** 0: not an error. */
        OK,
        /** 1: the operation was cancelled. */
        CANCELLED,
        /** 2: an error without a known status. */
        UNKNOWN,
        /** 3: the service refuses the request as it is. */
        INVALID_ARGUMENT,
        /** 4: no answer in time. */
        DEADLINE_EXCEEDED,
        /** 5: the subscription or topic does not exist. */
        NOT_FOUND,
        /** 6: it exists already. */
        ALREADY_EXISTS,
        /** 7: the identity lacks a permission. */
        PERMISSION_DENIED,
        /** 8: a quota is used up. */
        RESOURCE_EXHAUSTED,
        /** 9: the resource is not in the state that the operation needs. */
        FAILED_PRECONDITION,
        /** 10: a concurrent change got in the way. */
        ABORTED,
        /** 11: outside the valid range. */
        OUT_OF_RANGE,
        /** 12: the server does not know the operation. */
        UNIMPLEMENTED,
        /** 13: the server, or this library, failed. */
        INTERNAL,
        /** 14: the service cannot be reached now. */
        UNAVAILABLE,
        /** 15: data is lost. */
        DATA_LOSS,
        /** 16: no valid credentials. */
        UNAUTHENTICATED;

        private static final Status[] BY_CODE = values();

        /** The status of a number; {@link #UNKNOWN} for one that is none. */
        public static Status fromCode(int code) {
            return code >= 0 && code < BY_CODE.length ? BY_CODE[code] : UNKNOWN;
        }
    }
}

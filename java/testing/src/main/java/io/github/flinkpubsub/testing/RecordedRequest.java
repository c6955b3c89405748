package io.github.flinkpubsub.testing;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/** A request that the server received while it recorded. */
public final class RecordedRequest {
    private long number;
    private long timeNanos;
    private long connection;
    private String method;
    private String resource;
    private long bytes;
    private Map<String, String> headers = Collections.emptyMap();
    private List<String> ackIds = Collections.emptyList();
    private Integer ackDeadlineSeconds;
    private List<Message> messages = Collections.emptyList();
    private String status;

    private RecordedRequest() {}

    /** Its number, in the order of arrival. */
    public long number() {
        return number;
    }

    /** When it came by the server's clock, in nanoseconds since 1970. */
    public long timeNanos() {
        return timeNanos;
    }

    /** The number of its connection. */
    public long connection() {
        return connection;
    }

    /** The call, such as {@code Publish}; each message on a stream is a {@code StreamingPull}. */
    public String method() {
        return method;
    }

    /** The full name of the resource it is about. */
    public String resource() {
        return resource;
    }

    /** Its encoded length. */
    public long bytes() {
        return bytes;
    }

    /** Its headers; secrets are hidden. */
    public Map<String, String> headers() {
        return Collections.unmodifiableMap(headers);
    }

    /** The ack ids it names. */
    public List<String> ackIds() {
        return Collections.unmodifiableList(ackIds);
    }

    /** The deadline of ModifyAckDeadline and of a stream's first request. */
    public OptionalInt ackDeadlineSeconds() {
        return ackDeadlineSeconds == null
                ? OptionalInt.empty()
                : OptionalInt.of(ackDeadlineSeconds);
    }

    /** The messages of a Publish. */
    public List<Message> messages() {
        return Collections.unmodifiableList(messages);
    }

    /** The status of the answer, such as {@code OK}; absent until there is one. */
    public Optional<String> status() {
        return Optional.ofNullable(status);
    }

    /** A message of a Publish. */
    public static final class Message {
        private String data;
        private long dataBytes;
        private Map<String, String> attributes = Collections.emptyMap();
        private String orderingKey;

        private Message() {}

        /** Its first 1,024 bytes, as text. */
        public String data() {
            return data;
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
}

package io.github.flinkpubsub.source.reader;

import io.github.flinkpubsub.PubSubMessage;

import org.apache.flink.annotation.Internal;

import java.time.DateTimeException;
import java.time.OffsetDateTime;

import javax.annotation.Nullable;

/** Where a record's timestamp comes from: the publish time, or an attribute. */
@Internal
public final class EventTime {

    @Nullable private final String attribute;

    /**
     * @param attribute holds RFC 3339 or milliseconds since the epoch; null for the publish time
     */
    public EventTime(@Nullable String attribute) {
        this.attribute = attribute;
    }

    /**
     * Milliseconds since the epoch.
     *
     * @throws IllegalArgumentException when the attribute is missing or unreadable
     */
    public long of(PubSubMessage message) {
        return attribute == null
                ? message.publishTimeMillis()
                : parse(message.attribute(attribute));
    }

    private long parse(@Nullable String text) {
        if (text == null) {
            throw new IllegalArgumentException(
                    "the timestamp attribute '" + attribute + "' is missing");
        }
        try {
            return text.indexOf(':') < 0
                    ? Long.parseLong(text)
                    : OffsetDateTime.parse(text).toInstant().toEpochMilli();
        } catch (NumberFormatException | DateTimeException | ArithmeticException e) {
            throw new IllegalArgumentException(
                    "the timestamp attribute '"
                            + attribute
                            + "' is neither RFC 3339 nor milliseconds since the epoch: '"
                            + text
                            + "'",
                    e);
        }
    }
}

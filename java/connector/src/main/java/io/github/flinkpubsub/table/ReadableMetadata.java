package io.github.flinkpubsub.table;

import io.github.flinkpubsub.PubSubMessage;
import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.source.reader.EventTime;

import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.data.GenericMapData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.types.DataType;

import java.io.Serializable;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;

import javax.annotation.Nullable;

/** What a column of a table can read of a message beside its payload. */
enum ReadableMetadata {
    MESSAGE_ID("message-id", DataTypes.STRING().notNull()) {
        @Override
        Reader reader(int precision, @Nullable String timestampAttribute) {
            return message -> StringData.fromString(message.messageId());
        }
    },

    PUBLISH_TIME("publish-time", DataTypes.TIMESTAMP_LTZ(3).notNull()) {
        @Override
        DataType type(int precision) {
            return DataTypes.TIMESTAMP_LTZ(precision).notNull();
        }

        @Override
        Reader reader(int precision, @Nullable String timestampAttribute) {
            if (precision == MILLIS) {
                return message -> TimestampData.fromEpochMillis(message.publishTimeMillis());
            }
            int unit = (int) Math.pow(10, 9 - precision);
            return message -> {
                Instant time = message.publishTime();
                return TimestampData.fromInstant(
                        Instant.ofEpochSecond(
                                time.getEpochSecond(), time.getNano() - time.getNano() % unit));
            };
        }
    },

    ATTRIBUTES("attributes", DataTypes.MAP(DataTypes.STRING(), DataTypes.STRING()).notNull()) {
        @Override
        Reader reader(int precision, @Nullable String timestampAttribute) {
            return message -> {
                Map<StringData, StringData> all = new LinkedHashMap<>();
                message.attributes()
                        .forEach(
                                (name, value) ->
                                        all.put(
                                                StringData.fromString(name),
                                                StringData.fromString(value)));
                return new GenericMapData(all);
            };
        }
    },

    ORDERING_KEY("ordering-key", DataTypes.STRING()) {
        @Override
        Reader reader(int precision, @Nullable String timestampAttribute) {
            return message -> StringData.fromString(message.orderingKey());
        }
    },

    SUBSCRIPTION("subscription", DataTypes.STRING().notNull()) {
        @Override
        Reader reader(int precision, @Nullable String timestampAttribute) {
            return new SubscriptionReader();
        }
    },

    DELIVERY_ATTEMPT("delivery-attempt", DataTypes.INT()) {
        @Override
        Reader reader(int precision, @Nullable String timestampAttribute) {
            return message -> message.deliveryAttempt() == 0 ? null : message.deliveryAttempt();
        }
    },

    TIMESTAMP("timestamp", DataTypes.TIMESTAMP_LTZ(3).notNull()) {
        @Override
        Reader reader(int precision, @Nullable String timestampAttribute) {
            return new EventTimeReader(timestampAttribute);
        }
    };

    /** The precision of times unless the table declares another one. */
    static final int MILLIS = 3;

    /** The name that {@code METADATA FROM} has. */
    final String key;

    private final DataType type;

    ReadableMetadata(String key, DataType type) {
        this.key = key;
        this.type = type;
    }

    /** The metadata of that key; null when there is none. */
    @Nullable
    static ReadableMetadata of(String key) {
        for (ReadableMetadata metadata : values()) {
            if (metadata.key.equals(key)) {
                return metadata;
            }
        }
        return null;
    }

    /**
     * The type that is read.
     *
     * @param precision of the publish time, 0 to 9
     */
    DataType type(int precision) {
        return type;
    }

    /**
     * Reads it from messages.
     *
     * @param precision of the publish time; further digits are cut off
     * @param timestampAttribute holds the event time; null for the publish time
     */
    abstract Reader reader(int precision, @Nullable String timestampAttribute);

    /** Reads a value, in Flink's internal form, from a message. */
    @FunctionalInterface
    interface Reader extends Serializable {
        @Nullable
        Object read(PubSubMessage message);
    }

    /** A message's subscription stays the same for a whole batch, and so does its name. */
    private static final class SubscriptionReader implements Reader {

        private static final long serialVersionUID = 1L;

        @Nullable private transient SubscriptionDestination last;
        @Nullable private transient StringData name;

        @Override
        public Object read(PubSubMessage message) {
            SubscriptionDestination subscription = message.subscription();
            if (subscription != last) {
                last = subscription;
                name = StringData.fromString(subscription.path());
            }
            return name;
        }
    }

    private static final class EventTimeReader implements Reader {

        private static final long serialVersionUID = 1L;

        @Nullable private final String attribute;
        @Nullable private transient EventTime eventTime;

        EventTimeReader(@Nullable String attribute) {
            this.attribute = attribute;
        }

        @Override
        public Object read(PubSubMessage message) {
            if (eventTime == null) {
                eventTime = new EventTime(attribute);
            }
            return TimestampData.fromEpochMillis(eventTime.of(message));
        }
    }
}

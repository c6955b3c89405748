package io.github.flinkpubsub.sink;

import io.github.flinkpubsub.OptionChecks;
import io.github.flinkpubsub.OutgoingMessage;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.wire.MessageLimits;
import io.github.flinkpubsub.wire.Utf8;

import java.io.IOException;
import java.time.Instant;
import java.util.Map;

/** Publishes failed messages to a topic of their own. */
final class DeadLetter implements FailedMessageHandler {

    static final String CONNECTOR = "pubsub-failed-connector";
    static final String DESTINATION = "pubsub-failed-destination";
    static final String ORDERING_KEY = "pubsub-failed-ordering-key";
    static final String ERROR = "pubsub-failed-error";
    static final String TIME = "pubsub-failed-time";
    static final String SUBTASK = "pubsub-failed-subtask";

    private static final long serialVersionUID = 1L;

    private static final int OWN_ATTRIBUTES = 6;

    private final TopicDestination topic;

    DeadLetter(TopicDestination topic) {
        this.topic = OptionChecks.notNull("sendToDeadLetterTopic", topic);
    }

    TopicDestination topic() {
        return topic;
    }

    @Override
    public void handle(FailedMessage failed, Context context) throws IOException {
        OutgoingMessage letter = new OutgoingMessage();
        if (failed.payload() != null) {
            letter.payload(failed.payload());
        }
        for (Map.Entry<String, String> attribute : failed.attributes().entrySet()) {
            if (letter.attributeCount() < MessageLimits.ATTRIBUTES - OWN_ATTRIBUTES
                    && isLegal(attribute.getKey(), attribute.getValue())) {
                letter.attribute(attribute.getKey(), attribute.getValue());
            }
        }
        letter.attribute(CONNECTOR, "flink-connector-pubsub-native");
        letter.attribute(
                DESTINATION, failed.destination() == null ? "" : failed.destination().path());
        if (failed.orderingKey() != null) {
            letter.attribute(ORDERING_KEY, cut(failed.orderingKey()));
        }
        letter.attribute(ERROR, cut(failed.cause().getMessage()));
        letter.attribute(TIME, Instant.ofEpochMilli(context.currentTimeMillis()).toString());
        letter.attribute(SUBTASK, Integer.toString(context.subtaskIndex()));
        context.publish(topic, letter);
    }

    /**
     * An attribute may be the very reason for the failure; the rest of the message still arrives.
     */
    private static boolean isLegal(String name, String value) {
        int nameLength = Utf8.length(name);
        int valueLength = Utf8.length(value);
        return nameLength >= 0
                && nameLength <= MessageLimits.ATTRIBUTE_NAME_BYTES
                && !name.startsWith(MessageLimits.RESERVED_PREFIX)
                && valueLength >= 0
                && valueLength <= MessageLimits.ATTRIBUTE_VALUE_BYTES;
    }

    /**
     * Cuts a text on a character so that an attribute holds it; halves of characters become '?'.
     */
    static String cut(String text) {
        StringBuilder kept = new StringBuilder();
        int bytes = 0;
        for (int at = 0; at < text.length(); ) {
            int codePoint = text.codePointAt(at);
            at += Character.charCount(codePoint);
            if (codePoint >= Character.MIN_SURROGATE && codePoint <= Character.MAX_SURROGATE) {
                codePoint = '?';
            }
            bytes += codePoint < 0x80 ? 1 : codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4;
            if (bytes > MessageLimits.ATTRIBUTE_VALUE_BYTES) {
                break;
            }
            kept.appendCodePoint(codePoint);
        }
        return kept.toString();
    }
}

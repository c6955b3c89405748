package io.github.flinkpubsub.source.reader;

import io.github.flinkpubsub.LogLimiter;
import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.PubSubException.Status;
import io.github.flinkpubsub.nativebridge.Subscriber;
import io.github.flinkpubsub.source.DeserializationFailurePolicy;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;

/** Does what the policy says with a message that could not be decoded. */
final class FailureHandling {

    private static final Logger LOG = LoggerFactory.getLogger(FailureHandling.class);

    private final DeserializationFailurePolicy policy;
    private final Subscriber subscriber;
    private final SourceMetrics metrics;
    private final LogLimiter logLimiter = new LogLimiter();

    FailureHandling(
            DeserializationFailurePolicy policy, Subscriber subscriber, SourceMetrics metrics) {
        this.policy = policy;
        this.subscriber = subscriber;
        this.metrics = metrics;
    }

    void handle(MessageView message, Exception failure) throws IOException {
        metrics.recordFailed();
        switch (policy) {
            case DROP:
                metrics.messageDropped();
                log("dropping", message, failure);
                break;
            case NACK:
                subscriber.nack(message.split(), message.sequence());
                log("giving back", message, failure);
                break;
            default:
                throw new PubSubException(
                        Status.INVALID_ARGUMENT,
                        message.subscription().path(),
                        "message "
                                + message.messageId()
                                + " of "
                                + message.subscription()
                                + ", published at "
                                + message.publishTime()
                                + ", cannot be deserialized: "
                                + failure
                                + "; deserializationFailurePolicy says what to do with such"
                                + " messages",
                        failure);
        }
    }

    private void log(String what, MessageView message, Exception failure) {
        long events = logLimiter.event(System.nanoTime());
        if (events > 0) {
            LOG.warn(
                    "Deserialization failed, {} {} ({} such messages since the last line)",
                    what,
                    message,
                    events,
                    failure);
        }
    }
}

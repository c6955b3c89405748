package io.github.flinkpubsub.sink;

import io.github.flinkpubsub.LogLimiter;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Drops messages, with a line in the log now and then. */
final class LogAndDrop implements FailedMessageHandler {

    private static final long serialVersionUID = 1L;

    private static final Logger LOG = LoggerFactory.getLogger(LogAndDrop.class);

    private transient LogLimiter limiter;

    @Override
    public void handle(FailedMessage message, Context context) {
        if (limiter == null) {
            limiter = new LogLimiter();
        }
        long events = limiter.event(System.nanoTime());
        if (events > 0) {
            LOG.warn(
                    "Dropping a message for {} ({} dropped since the last line)",
                    message.destination() == null ? "a topic not yet known" : message.destination(),
                    events,
                    message.cause());
        }
    }
}

package io.github.flinkpubsub.sink;

import io.github.flinkpubsub.PubSubException;

/** Fails the job with the message's cause. */
final class FailJob implements FailedMessageHandler {

    static final FailJob INSTANCE = new FailJob();

    private static final long serialVersionUID = 1L;

    private FailJob() {}

    @Override
    public void handle(FailedMessage message, Context context) throws PubSubException {
        throw message.cause();
    }

    private Object readResolve() {
        return INSTANCE;
    }
}

package io.github.flinkpubsub.sink.writer;

import io.github.flinkpubsub.OutgoingMessage;
import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.PubSubException.Status;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.sink.PubSubPublisherOptions;

/**
 * A key has an effect only with ordering: without, it is an error rather than a silent loss of
 * order.
 */
final class OrderingCheck {

    private OrderingCheck() {}

    static void check(
            PubSubPublisherOptions options, TopicDestination topic, OutgoingMessage message)
            throws PubSubException {
        if (message.orderingKey() != null && !options.enableMessageOrdering()) {
            throw new PubSubException(
                    Status.FAILED_PRECONDITION,
                    topic.path(),
                    "a message has the ordering key '"
                            + message.orderingKey()
                            + "' but the publisher option enableMessageOrdering is off: enable it,"
                            + " or set no key");
        }
    }
}

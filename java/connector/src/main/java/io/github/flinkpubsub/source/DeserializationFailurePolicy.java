package io.github.flinkpubsub.source;

import org.apache.flink.annotation.PublicEvolving;

/**
 * What becomes of a message that the schema, or the reading of its timestamp attribute, throws at.
 */
@PublicEvolving
public enum DeserializationFailurePolicy {

    /** The job fails with the message's subscription and id. The default. */
    FAIL,

    /**
     * The message is acknowledged with the next checkpoint and counted in {@code messagesDropped}.
     */
    DROP,

    /**
     * The message is given back at once and counted in {@code messagesNacked}. The service delivers
     * it again until the subscription's dead-letter policy moves it away; without such a policy it
     * comes back for ever.
     */
    NACK
}

package io.github.flinkpubsub.source;

import org.apache.flink.annotation.PublicEvolving;

/** What the source promises about the order of messages. */
@PublicEvolving
public enum OrderingMode {

    /** No order; every subtask reads every subscription that it can help with. The default. */
    NONE,

    /**
     * Messages of one ordering key are emitted in the order in which the service delivers them.
     * Each subscription is then read by one subtask through one stream; subtasks beyond the number
     * of subscriptions have nothing to do. The subscription must have message ordering enabled.
     */
    PER_KEY
}

package io.github.flinkpubsub.compat;

import org.apache.flink.annotation.PublicEvolving;

import java.util.List;

/**
 * Acknowledges messages.
 *
 * @param <AcknowledgeId> the type of ack ids
 */
@PublicEvolving
public interface Acknowledger<AcknowledgeId> {

    /**
     * Acknowledges the messages with these ids. Called by the task's thread, when the checkpoint
     * that holds their effects has completed.
     */
    void acknowledge(List<AcknowledgeId> ids);
}

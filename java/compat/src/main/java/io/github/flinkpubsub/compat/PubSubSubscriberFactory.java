package io.github.flinkpubsub.compat;

import com.google.auth.Credentials;

import org.apache.flink.annotation.PublicEvolving;

import java.io.IOException;
import java.io.Serializable;

/** Makes the client of each subtask. */
@PublicEvolving
public interface PubSubSubscriberFactory extends Serializable {

    /**
     * A client of one subtask; called when its reader starts.
     *
     * @param credentials those of {@code withCredentials}; without these, the environment's, looked
     *     up where the task runs when they are first used
     */
    PubSubSubscriber getSubscriber(Credentials credentials) throws IOException;
}

package io.github.flinkpubsub.sink;

import org.apache.flink.annotation.PublicEvolving;

/** What a sink does when a topic does not exist. */
@PublicEvolving
public enum CreateDisposition {

    /**
     * Creates it when a publish finds it missing; the messages wait for that and keep their order.
     * The default. As long as the topic exists, no permission to create topics is needed.
     */
    CREATE_IF_NEEDED,

    /** Fails the job. */
    CREATE_NEVER
}

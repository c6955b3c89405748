package io.github.flinkpubsub.sink;

import io.github.flinkpubsub.PubSubRecord;
import io.github.flinkpubsub.TopicDestination;

import org.apache.flink.annotation.PublicEvolving;
import org.apache.flink.api.connector.sink2.SinkWriter;

import java.io.Serializable;

/**
 * Chooses the topic of each record. Called by the task's thread only, for every record: one that
 * answers the same object for the same topic saves work.
 *
 * @param <T> the records' type
 */
@PublicEvolving
@FunctionalInterface
public interface DestinationResolver<T> extends Serializable {

    /**
     * The topic of a record. Null, or what this method throws, is treated by the failed-message
     * handler.
     */
    TopicDestination resolve(T element, SinkWriter.Context context) throws Exception;

    /**
     * The topic that the record names itself, with {@link PubSubRecord#withTopic}. One that names
     * none is treated by the failed-message handler.
     */
    static DestinationResolver<PubSubRecord> ofRecord() {
        return (record, context) -> {
            if (record.topic() == null) {
                throw new IllegalArgumentException("the record names no topic: " + record);
            }
            return record.topic();
        };
    }
}

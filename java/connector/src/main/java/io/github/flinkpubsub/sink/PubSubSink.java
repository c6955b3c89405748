package io.github.flinkpubsub.sink;

import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.sink.writer.PubSubWriter;

import org.apache.flink.annotation.PublicEvolving;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;

import java.io.IOException;
import java.util.Arrays;

/**
 * Publishes records to Pub/Sub topics. A checkpoint completes only when every record before it is
 * on the service, skipped by the serializer or handed to the failed-message handler, so with
 * checkpointing every record is published at least once.
 *
 * <p>Flink 1.20's {@code Sink} has a second, older {@code createWriter}, which does not exist any
 * more in Flink 2 and which 1.20 itself calls only through the one below: one class serves both.
 *
 * @param <T> the records' type
 */
@PublicEvolving
public final class PubSubSink<T> implements Sink<T> {

    private static final long serialVersionUID = 1L;

    private final SinkConfig<T> config;

    PubSubSink(SinkConfig<T> config) {
        this.config = config;
    }

    /** A builder; a serializer and a topic or a destination resolver are required. */
    public static <T> PubSubSinkBuilder<T> builder() {
        return new PubSubSinkBuilder<>();
    }

    /**
     * Checks from here, before the job is submitted, that topics exist: the sink's one topic, the
     * dead-letter topic, and those that are given, which a destination resolver may choose. Nothing
     * is created, whatever the create disposition. Uses the credentials and files of this machine,
     * needs the permission {@code pubsub.topics.get}, and blocks for at most 20 s for each.
     *
     * @throws PubSubException with every topic that is missing
     */
    public void validate(TopicDestination... more) throws IOException {
        TopicCheck.check(config, Arrays.asList(more));
    }

    @Override
    public SinkWriter<T> createWriter(WriterInitContext context) throws IOException {
        return PubSubWriter.create(config, context);
    }
}

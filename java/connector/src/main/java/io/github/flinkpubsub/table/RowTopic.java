package io.github.flinkpubsub.table;

import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.sink.DestinationResolver;

import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.table.data.RowData;

import java.util.HashMap;
import java.util.Map;

import javax.annotation.Nullable;

/** The topic that a row names in a column of its own. */
final class RowTopic implements DestinationResolver<RowData> {

    private static final long serialVersionUID = 1L;

    /** Above it the names seen are forgotten: a topic for each row must not fill the memory. */
    private static final int REMEMBERED = 10_000;

    private final RowMetadata metadata;
    private final String project;
    @Nullable private final TopicDestination fallback;
    @Nullable private transient Map<String, TopicDestination> known;

    /**
     * @param project of topics that are named by their id
     * @param fallback the topic of rows that name none; null when all have to
     */
    RowTopic(RowMetadata metadata, String project, @Nullable TopicDestination fallback) {
        this.metadata = metadata;
        this.project = project;
        this.fallback = fallback;
    }

    @Override
    public TopicDestination resolve(RowData row, SinkWriter.Context context) {
        String name = metadata.topic(row);
        if (name == null) {
            if (fallback == null) {
                throw new IllegalArgumentException(
                        "the column METADATA FROM 'topic' is NULL, and the option 'topic' is not"
                                + " set");
            }
            return fallback;
        }
        if (known == null || known.size() >= REMEMBERED) {
            known = new HashMap<>();
        }
        return known.computeIfAbsent(name, n -> Names.topic(project, n));
    }
}

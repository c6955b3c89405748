package io.github.flinkpubsub.table;

import io.github.flinkpubsub.sink.PubSubSink;
import io.github.flinkpubsub.sink.PubSubSinkBuilder;

import org.apache.flink.api.common.serialization.SerializationSchema;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSink;
import org.apache.flink.table.catalog.ObjectIdentifier;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.ProviderContext;
import org.apache.flink.table.connector.format.EncodingFormat;
import org.apache.flink.table.connector.sink.DataStreamSinkProvider;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.flink.table.connector.sink.SinkV2Provider;
import org.apache.flink.table.connector.sink.abilities.SupportsWritingMetadata;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.DataType;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

import javax.annotation.Nullable;

/** Writes a table. Lives in the planner; the job gets a {@link PubSubSink}. */
final class PubSubTableSink implements DynamicTableSink, SupportsWritingMetadata {

    private final ObjectIdentifier table;
    private final SinkSettings settings;
    private final EncodingFormat<SerializationSchema<RowData>> format;
    private final DataType physicalType;
    private List<WritableMetadata> metadata = List.of();

    PubSubTableSink(
            ObjectIdentifier table,
            SinkSettings settings,
            EncodingFormat<SerializationSchema<RowData>> format,
            DataType physicalType) {
        this.table = table;
        this.settings = settings;
        this.format = format;
        this.physicalType = physicalType;
    }

    /** Inserts only, unless the format has a way to tell updates and deletions. */
    @Override
    public ChangelogMode getChangelogMode(ChangelogMode requested) {
        return format.getChangelogMode();
    }

    @Override
    public Map<String, DataType> listWritableMetadata() {
        Map<String, DataType> types = new LinkedHashMap<>();
        for (WritableMetadata own : WritableMetadata.values()) {
            types.put(own.key, own.type);
        }
        return types;
    }

    @Override
    public void applyWritableMetadata(List<String> keys, DataType consumedType) {
        metadata = keys.stream().map(WritableMetadata::of).collect(Collectors.toList());
    }

    @Override
    public SinkRuntimeProvider getSinkRuntimeProvider(Context context) {
        int physicalColumns = DataType.getFieldCount(physicalType);
        RowMetadata columns = new RowMetadata(physicalColumns, metadata);
        PubSubSinkBuilder<RowData> builder =
                settings.builder()
                        .serializer(
                                new RowSerializer(
                                        format.createRuntimeEncoder(context, physicalType),
                                        physicalColumns,
                                        columns,
                                        settings.timestampAttribute()));
        if (columns.hasTopic()) {
            builder.destinationResolver(
                    new RowTopic(columns, settings.project(), settings.topic()));
        } else {
            builder.topic(settings.topic());
        }
        PubSubSink<RowData> sink = SinkSettings.SINK.translated(builder::build);
        return columns.hasOrderingKey()
                ? new OrderedProvider(
                        sink,
                        columns,
                        "PubSub(" + table.getObjectName() + ")",
                        asSummaryString(),
                        settings.parallelism())
                : SinkV2Provider.of(sink, settings.parallelism());
    }

    @Override
    public DynamicTableSink copy() {
        PubSubTableSink copy = new PubSubTableSink(table, settings, format, physicalType);
        copy.metadata = metadata;
        return copy;
    }

    @Override
    public String asSummaryString() {
        return "PubSub(" + settings.summary() + ")";
    }

    /** Puts an exchange by ordering key in front of the writers where there are several. */
    private static final class OrderedProvider implements DataStreamSinkProvider {

        private final PubSubSink<RowData> sink;
        private final RowMetadata columns;
        private final String name;
        private final String description;
        @Nullable private final Integer parallelism;

        OrderedProvider(
                PubSubSink<RowData> sink,
                RowMetadata columns,
                String name,
                String description,
                @Nullable Integer parallelism) {
            this.sink = sink;
            this.columns = columns;
            this.name = name;
            this.description = description;
            this.parallelism = parallelism;
        }

        @Override
        public DataStreamSink<?> consumeDataStream(
                ProviderContext context, DataStream<RowData> rows) {
            // As the planner does for other sinks. Negative where the scheduler decides.
            int writers = parallelism == null ? rows.getParallelism() : parallelism;
            RowMetadata columns = this.columns;
            DataStream<RowData> routed =
                    writers == 1
                            ? rows
                            : rows.partitionCustom(
                                    new OrderingKeyPartitioner(), columns::orderingKey);
            DataStreamSink<RowData> written =
                    routed.sinkTo(sink).name(name).setDescription(description);
            if (writers > 0) {
                written.setParallelism(writers);
            }
            context.generateUid("pubsub").ifPresent(written::uid);
            return written;
        }

        @Override
        public Optional<Integer> getParallelism() {
            return Optional.ofNullable(parallelism);
        }
    }
}

package io.github.flinkpubsub.table;

import io.github.flinkpubsub.source.PubSubSource;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSource;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.catalog.ObjectIdentifier;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.ProviderContext;
import org.apache.flink.table.connector.format.DecodingFormat;
import org.apache.flink.table.connector.source.DataStreamScanProvider;
import org.apache.flink.table.connector.source.DynamicTableSource;
import org.apache.flink.table.connector.source.ScanTableSource;
import org.apache.flink.table.connector.source.abilities.SupportsProjectionPushDown;
import org.apache.flink.table.connector.source.abilities.SupportsReadingMetadata;
import org.apache.flink.table.connector.source.abilities.SupportsWatermarkPushDown;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.DataType;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

import javax.annotation.Nullable;

/** Reads a table. Lives in the planner; the job gets a {@link PubSubSource}. */
final class PubSubTableSource
        implements ScanTableSource,
                SupportsProjectionPushDown,
                SupportsReadingMetadata,
                SupportsWatermarkPushDown {

    private final ObjectIdentifier table;
    private final ScanSettings settings;
    private final DecodingFormat<DeserializationSchema<RowData>> format;
    private final DataType physicalType;
    private final int publishTimePrecision;
    private final boolean batch;

    // What the planner pushes down.
    private DataType producedType;
    private int[] columns;
    private List<String> formatMetadata = List.of();
    private List<ReadableMetadata> metadata = List.of();
    @Nullable private WatermarkStrategy<RowData> watermarks;

    /**
     * @param publishTimePrecision digits of the publish time's seconds, as the table declares it
     * @param batch whether the statement runs in batch execution
     */
    PubSubTableSource(
            ObjectIdentifier table,
            ScanSettings settings,
            DecodingFormat<DeserializationSchema<RowData>> format,
            DataType physicalType,
            int publishTimePrecision,
            boolean batch) {
        this.table = table;
        this.settings = settings;
        this.format = format;
        this.physicalType = physicalType;
        this.publishTimePrecision = publishTimePrecision;
        this.batch = batch;
        producedType = physicalType;
        columns = IntStream.range(0, DataType.getFieldCount(physicalType)).toArray();
    }

    @Override
    public ChangelogMode getChangelogMode() {
        return format.getChangelogMode();
    }

    /** The format's first: its values stand before the connector's in a row. */
    @Override
    public Map<String, DataType> listReadableMetadata() {
        Map<String, DataType> types = new LinkedHashMap<>();
        format.listReadableMetadata()
                .forEach(
                        (key, type) -> {
                            if (ReadableMetadata.of(key) == null) {
                                types.put(key, type);
                            }
                        });
        for (ReadableMetadata own : ReadableMetadata.values()) {
            types.put(own.key, own.type(publishTimePrecision));
        }
        return types;
    }

    @Override
    public boolean supportsNestedProjection() {
        return false;
    }

    /**
     * The planner prunes metadata only of a source that takes a projection of its columns too. The
     * payload is decoded as a whole all the same: not every format can leave out fields.
     */
    @Override
    public void applyProjection(int[][] columns, DataType producedType) {
        this.columns = Arrays.stream(columns).mapToInt(path -> path[0]).toArray();
        this.producedType = producedType;
    }

    @Override
    public void applyReadableMetadata(List<String> keys, DataType producedType) {
        formatMetadata = new ArrayList<>();
        metadata = new ArrayList<>();
        for (String key : keys) {
            ReadableMetadata own = ReadableMetadata.of(key);
            if (own == null) {
                formatMetadata.add(key);
            } else {
                metadata.add(own);
            }
        }
        this.producedType = producedType;
    }

    @Override
    public void applyWatermark(WatermarkStrategy<RowData> watermarks) {
        this.watermarks = watermarks;
    }

    @Override
    public ScanRuntimeProvider getScanRuntimeProvider(ScanContext context) {
        if (!format.listReadableMetadata().isEmpty()) {
            format.applyReadableMetadata(formatMetadata);
        }
        ReadableMetadata.Reader[] readers =
                metadata.stream()
                        .map(own -> own.reader(publishTimePrecision, settings.timestampAttribute()))
                        .toArray(ReadableMetadata.Reader[]::new);
        RowDeserializer deserializer =
                new RowDeserializer(
                        format.createRuntimeDecoder(context, physicalType),
                        projection(),
                        readers,
                        context.createTypeInformation(producedType));
        PubSubSource<RowData> source =
                ScanSettings.SOURCE.translated(
                        () -> settings.builder().deserializer(deserializer).build());
        return new Provider(
                batch ? source.inBatchExecution() : source,
                watermarks == null ? WatermarkStrategy.noWatermarks() : watermarks,
                "PubSub(" + table.asSummaryString() + ")",
                settings.parallelism());
    }

    /** What a query needs of the format's rows; null for all of them. */
    @Nullable
    private int[] projection() {
        int physical = DataType.getFieldCount(physicalType);
        int[] all = IntStream.range(0, physical + formatMetadata.size()).toArray();
        int[] wanted =
                IntStream.concat(Arrays.stream(columns), Arrays.stream(all).skip(physical))
                        .toArray();
        return Arrays.equals(all, wanted) ? null : wanted;
    }

    @Override
    public DynamicTableSource copy() {
        PubSubTableSource copy =
                new PubSubTableSource(
                        table, settings, format, physicalType, publishTimePrecision, batch);
        copy.producedType = producedType;
        copy.columns = columns;
        copy.formatMetadata = formatMetadata;
        copy.metadata = metadata;
        copy.watermarks = watermarks;
        return copy;
    }

    @Override
    public String asSummaryString() {
        return "PubSub(" + settings.summary() + ")";
    }

    /** A source of its own, so that the watermarks of each split are made in it. */
    private static final class Provider implements DataStreamScanProvider {

        private final PubSubSource<RowData> source;
        private final WatermarkStrategy<RowData> watermarks;
        private final String name;
        @Nullable private final Integer parallelism;

        Provider(
                PubSubSource<RowData> source,
                WatermarkStrategy<RowData> watermarks,
                String name,
                @Nullable Integer parallelism) {
            this.source = source;
            this.watermarks = watermarks;
            this.name = name;
            this.parallelism = parallelism;
        }

        @Override
        public DataStream<RowData> produceDataStream(
                ProviderContext context, StreamExecutionEnvironment env) {
            DataStreamSource<RowData> stream = env.fromSource(source, watermarks, name);
            context.generateUid("pubsub").ifPresent(stream::uid);
            return stream;
        }

        @Override
        public boolean isBounded() {
            return source.getBoundedness() == Boundedness.BOUNDED;
        }

        @Override
        public Optional<Integer> getParallelism() {
            return Optional.ofNullable(parallelism);
        }
    }
}

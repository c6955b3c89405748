package io.github.flinkpubsub.table;

import org.apache.flink.annotation.Internal;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.serialization.SerializationSchema;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ExecutionOptions;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.catalog.Column.MetadataColumn;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.format.DecodingFormat;
import org.apache.flink.table.connector.format.EncodingFormat;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.flink.table.connector.source.DynamicTableSource;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.factories.DeserializationFormatFactory;
import org.apache.flink.table.factories.DynamicTableSinkFactory;
import org.apache.flink.table.factories.DynamicTableSourceFactory;
import org.apache.flink.table.factories.FactoryUtil;
import org.apache.flink.table.factories.FactoryUtil.TableFactoryHelper;
import org.apache.flink.table.factories.SerializationFormatFactory;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.utils.LogicalTypeChecks;

import java.util.EnumSet;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Makes sources and sinks of tables with {@code 'connector' = 'pubsub'}. Everything that a
 * statement can get wrong is found here, when it is planned.
 */
@Internal
public final class PubSubTableFactory
        implements DynamicTableSourceFactory, DynamicTableSinkFactory {

    public static final String IDENTIFIER = "pubsub";

    /** What decides about the plan, and cannot change while a compiled one stays the same. */
    private static final Set<ConfigOption<?>> PLANNED =
            Set.of(
                    PubSubConnectorOptions.SCAN_BOUNDED_MODE,
                    PubSubConnectorOptions.SCAN_BOUNDED_IDLE_TIMEOUT,
                    PubSubConnectorOptions.SCAN_BOUNDED_TIMESTAMP_MILLIS,
                    FactoryUtil.SOURCE_PARALLELISM,
                    FactoryUtil.SINK_PARALLELISM);

    @Override
    public String factoryIdentifier() {
        return IDENTIFIER;
    }

    @Override
    public Set<ConfigOption<?>> requiredOptions() {
        return Set.of(PubSubConnectorOptions.PROJECT, FactoryUtil.FORMAT);
    }

    @Override
    public Set<ConfigOption<?>> optionalOptions() {
        Set<ConfigOption<?>> options = new LinkedHashSet<>(ScanSettings.options());
        options.addAll(SinkSettings.options());
        return options;
    }

    @Override
    public Set<ConfigOption<?>> forwardOptions() {
        Set<ConfigOption<?>> options = optionalOptions();
        options.removeAll(PLANNED);
        return options;
    }

    @Override
    public DynamicTableSource createDynamicTableSource(Context context) {
        TableFactoryHelper helper = FactoryUtil.createTableFactoryHelper(this, context);
        checkKeys(context);
        DecodingFormat<DeserializationSchema<RowData>> format =
                helper.discoverDecodingFormat(
                        DeserializationFormatFactory.class, FactoryUtil.FORMAT);
        helper.validate();
        ScanSettings settings = ScanSettings.of(helper.getOptions());
        boolean changelog = !format.getChangelogMode().equals(ChangelogMode.insertOnly());
        if (changelog
                && settings.parallelism() != null
                && context.getPrimaryKeyIndexes().length == 0) {
            throw new ValidationException(
                    "'scan.parallelism' with a changelog format needs a primary key, by which the"
                            + " changes are distributed");
        }
        return new PubSubTableSource(
                context.getObjectIdentifier(),
                settings,
                format,
                context.getPhysicalRowDataType(),
                publishTimePrecision(context),
                context.getConfiguration().get(ExecutionOptions.RUNTIME_MODE)
                        == RuntimeExecutionMode.BATCH);
    }

    @Override
    public DynamicTableSink createDynamicTableSink(Context context) {
        TableFactoryHelper helper = FactoryUtil.createTableFactoryHelper(this, context);
        checkKeys(context);
        EncodingFormat<SerializationSchema<RowData>> format =
                helper.discoverEncodingFormat(SerializationFormatFactory.class, FactoryUtil.FORMAT);
        helper.validate();
        return new PubSubTableSink(
                context.getObjectIdentifier(),
                SinkSettings.of(helper.getOptions(), writtenMetadata(context)),
                format,
                context.getPhysicalRowDataType());
    }

    private void checkKeys(Context context) {
        Set<ConfigOption<?>> options = new HashSet<>(optionalOptions());
        options.addAll(requiredOptions());
        options.addAll(
                List.of(
                        FactoryUtil.CONNECTOR,
                        FactoryUtil.PROPERTY_VERSION,
                        FactoryUtil.WATERMARK_EMIT_STRATEGY,
                        FactoryUtil.WATERMARK_ALIGNMENT_GROUP,
                        FactoryUtil.WATERMARK_ALIGNMENT_MAX_DRIFT,
                        FactoryUtil.WATERMARK_ALIGNMENT_UPDATE_INTERVAL,
                        FactoryUtil.SOURCE_IDLE_TIMEOUT));
        new OptionKeys()
                .with(options)
                .check(
                        context.getCatalogTable().getOptions().keySet(),
                        context.getCatalogTable().getOptions().get(FactoryUtil.FORMAT.key()));
    }

    private static Stream<MetadataColumn> metadataColumns(Context context) {
        return context.getCatalogTable().getResolvedSchema().getColumns().stream()
                .filter(MetadataColumn.class::isInstance)
                .map(MetadataColumn.class::cast);
    }

    private static String key(MetadataColumn column) {
        return column.getMetadataKey().orElse(column.getName());
    }

    private static Set<WritableMetadata> writtenMetadata(Context context) {
        Set<WritableMetadata> written = EnumSet.noneOf(WritableMetadata.class);
        metadataColumns(context)
                .filter(column -> !column.isVirtual())
                .map(column -> WritableMetadata.of(key(column)))
                .filter(Objects::nonNull)
                .forEach(written::add);
        return written;
    }

    /** As precise as the most precise column that reads it, and milliseconds otherwise. */
    private static int publishTimePrecision(Context context) {
        return metadataColumns(context)
                .filter(column -> key(column).equals(ReadableMetadata.PUBLISH_TIME.key))
                .map(column -> column.getDataType().getLogicalType())
                .mapToInt(PubSubTableFactory::precision)
                .max()
                .orElse(ReadableMetadata.MILLIS);
    }

    private static int precision(LogicalType type) {
        switch (type.getTypeRoot()) {
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
            case TIMESTAMP_WITHOUT_TIME_ZONE:
                return LogicalTypeChecks.getPrecision(type);
            default:
                return ReadableMetadata.MILLIS;
        }
    }
}

package io.github.flinkpubsub.table;

import io.github.flinkpubsub.OutgoingMessage;
import io.github.flinkpubsub.PubSubSerializationSchema;

import org.apache.flink.api.common.serialization.SerializationSchema;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.table.data.ArrayData;
import org.apache.flink.table.data.MapData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.utils.ProjectedRowData;

import java.util.stream.IntStream;

import javax.annotation.Nullable;

/** Makes a message of a row: the format encodes the physical columns, the others are metadata. */
final class RowSerializer implements PubSubSerializationSchema<RowData> {

    private static final long serialVersionUID = 1L;

    private final SerializationSchema<RowData> format;
    private final int physicalColumns;
    private final RowMetadata metadata;
    @Nullable private final String timestampAttribute;
    @Nullable private transient ProjectedRowData physical;

    /**
     * @param timestampAttribute takes the event time; null for none
     */
    RowSerializer(
            SerializationSchema<RowData> format,
            int physicalColumns,
            RowMetadata metadata,
            @Nullable String timestampAttribute) {
        this.format = format;
        this.physicalColumns = physicalColumns;
        this.metadata = metadata;
        this.timestampAttribute = timestampAttribute;
    }

    @Override
    public void open(SerializationSchema.InitializationContext context) throws Exception {
        format.open(context);
        physical = ProjectedRowData.from(IntStream.range(0, physicalColumns).toArray());
    }

    @Override
    public boolean serialize(RowData row, SinkWriter.Context context, OutgoingMessage message) {
        RowData columns = row.getArity() == physicalColumns ? row : physical.replaceRow(row);
        byte[] payload = format.serialize(columns);
        if (payload == null) {
            throw new IllegalArgumentException(
                    "the format makes no payload of this row, such as 'raw' of NULL");
        }
        message.payload(payload).orderingKey(metadata.orderingKey(row));
        MapData attributes = metadata.attributes(row);
        if (attributes != null) {
            addAttributes(attributes, message);
        }
        if (timestampAttribute != null) {
            addTimestamp(row, context, message);
        }
        return true;
    }

    private static void addAttributes(MapData attributes, OutgoingMessage message) {
        ArrayData names = attributes.keyArray();
        ArrayData values = attributes.valueArray();
        for (int i = 0; i < attributes.size(); i++) {
            if (names.isNullAt(i)) {
                throw new IllegalArgumentException("'attributes' has a key that is NULL");
            }
            String name = names.getString(i).toString();
            if (values.isNullAt(i)) {
                throw new IllegalArgumentException(
                        "'attributes' has the value NULL for the key '" + name + "'");
            }
            message.attribute(name, values.getString(i).toString());
        }
    }

    private void addTimestamp(RowData row, SinkWriter.Context context, OutgoingMessage message) {
        Long millis = metadata.timestamp(row);
        if (millis == null && !metadata.hasTimestamp()) {
            millis = context.timestamp();
            if (millis == null) {
                throw new IllegalStateException(
                        "'sink.timestamp-attribute' needs rows with an event time: a query that"
                                + " keeps a column with a watermark, or a column METADATA FROM"
                                + " 'timestamp'");
            }
        }
        if (millis != null) {
            message.attribute(timestampAttribute, Long.toString(millis));
        }
    }
}

package io.github.flinkpubsub.table;

import org.apache.flink.table.data.MapData;
import org.apache.flink.table.data.RowData;

import java.io.Serializable;
import java.util.List;

import javax.annotation.Nullable;

/** Where a row to be written has its metadata: behind the physical columns. */
final class RowMetadata implements Serializable {

    private static final long serialVersionUID = 1L;

    private static final int ABSENT = -1;

    private final int attributes;
    private final int orderingKey;
    private final int topic;
    private final int timestamp;

    /**
     * @param columns the metadata of a row in its order
     */
    RowMetadata(int physicalColumns, List<WritableMetadata> columns) {
        attributes = position(physicalColumns, columns, WritableMetadata.ATTRIBUTES);
        orderingKey = position(physicalColumns, columns, WritableMetadata.ORDERING_KEY);
        topic = position(physicalColumns, columns, WritableMetadata.TOPIC);
        timestamp = position(physicalColumns, columns, WritableMetadata.TIMESTAMP);
    }

    private static int position(
            int physicalColumns, List<WritableMetadata> columns, WritableMetadata wanted) {
        int at = columns.indexOf(wanted);
        return at < 0 ? ABSENT : physicalColumns + at;
    }

    boolean hasOrderingKey() {
        return orderingKey != ABSENT;
    }

    boolean hasTopic() {
        return topic != ABSENT;
    }

    boolean hasTimestamp() {
        return timestamp != ABSENT;
    }

    @Nullable
    MapData attributes(RowData row) {
        return isNull(row, attributes) ? null : row.getMap(attributes);
    }

    /** Null for an unordered row; an empty key is none. */
    @Nullable
    String orderingKey(RowData row) {
        if (isNull(row, orderingKey)) {
            return null;
        }
        String key = row.getString(orderingKey).toString();
        return key.isEmpty() ? null : key;
    }

    @Nullable
    String topic(RowData row) {
        return isNull(row, topic) ? null : row.getString(topic).toString();
    }

    /** Milliseconds since the epoch. */
    @Nullable
    Long timestamp(RowData row) {
        return isNull(row, timestamp) ? null : row.getTimestamp(timestamp, 3).getMillisecond();
    }

    private static boolean isNull(RowData row, int position) {
        return position == ABSENT || row.isNullAt(position);
    }
}

package io.github.flinkpubsub.table;

import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.types.DataType;

import javax.annotation.Nullable;

/** What a column of a table can write to a message beside its payload. */
enum WritableMetadata {
    ATTRIBUTES("attributes", DataTypes.MAP(DataTypes.STRING(), DataTypes.STRING())),
    ORDERING_KEY("ordering-key", DataTypes.STRING()),
    TOPIC("topic", DataTypes.STRING()),
    TIMESTAMP("timestamp", DataTypes.TIMESTAMP_LTZ(3));

    /** The name that {@code METADATA FROM} has. */
    final String key;

    /** The type that is written. */
    final DataType type;

    WritableMetadata(String key, DataType type) {
        this.key = key;
        this.type = type;
    }

    /** The metadata of that key; null when there is none. */
    @Nullable
    static WritableMetadata of(String key) {
        for (WritableMetadata metadata : values()) {
            if (metadata.key.equals(key)) {
                return metadata;
            }
        }
        return null;
    }
}

package io.github.flinkpubsub.table;

import io.github.flinkpubsub.PubSubDeserializationSchema;
import io.github.flinkpubsub.PubSubMessage;

import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.utils.JoinedRowData;
import org.apache.flink.table.data.utils.ProjectedRowData;
import org.apache.flink.util.Collector;

import javax.annotation.Nullable;

/** Makes rows of a message: what the format decodes, and behind it the message's metadata. */
final class RowDeserializer implements PubSubDeserializationSchema<RowData> {

    private static final long serialVersionUID = 1L;

    private final DeserializationSchema<RowData> format;
    @Nullable private final int[] projection;
    private final ReadableMetadata.Reader[] metadata;
    private final TypeInformation<RowData> type;
    @Nullable private transient Appender appender;

    /**
     * @param projection the fields of the format's rows that are wanted; null for all
     */
    RowDeserializer(
            DeserializationSchema<RowData> format,
            @Nullable int[] projection,
            ReadableMetadata.Reader[] metadata,
            TypeInformation<RowData> type) {
        this.format = format;
        this.projection = projection;
        this.metadata = metadata;
        this.type = type;
    }

    @Override
    public void open(DeserializationSchema.InitializationContext context) throws Exception {
        format.open(context);
        appender = new Appender(projection);
    }

    @Override
    public void deserialize(PubSubMessage message, Collector<RowData> out) throws Exception {
        if (metadata.length == 0 && projection == null) {
            format.deserialize(message.payloadBytes(), out);
            return;
        }
        appender.start(read(message), out);
        format.deserialize(message.payloadBytes(), appender);
    }

    private GenericRowData read(PubSubMessage message) {
        GenericRowData row = new GenericRowData(metadata.length);
        for (int i = 0; i < metadata.length; i++) {
            row.setField(i, metadata[i].read(message));
        }
        return row;
    }

    @Override
    public TypeInformation<RowData> getProducedType() {
        return type;
    }

    /** Puts the metadata of one message behind what is wanted of each of its rows. */
    private static final class Appender implements Collector<RowData> {

        @Nullable private final int[] projection;
        private GenericRowData metadata;
        private Collector<RowData> out;

        Appender(@Nullable int[] projection) {
            this.projection = projection;
        }

        void start(GenericRowData metadata, Collector<RowData> out) {
            this.metadata = metadata;
            this.out = out;
        }

        @Override
        public void collect(RowData row) {
            RowData wanted =
                    projection == null ? row : ProjectedRowData.from(projection).replaceRow(row);
            out.collect(new JoinedRowData(row.getRowKind(), wanted, metadata));
        }

        @Override
        public void close() {}
    }
}

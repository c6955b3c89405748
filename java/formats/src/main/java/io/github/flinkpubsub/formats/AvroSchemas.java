package io.github.flinkpubsub.formats;

import io.github.flinkpubsub.OptionChecks;
import io.github.flinkpubsub.PubSubDeserializationSchema;
import io.github.flinkpubsub.PubSubSerializationSchema;
import io.github.flinkpubsub.source.reader.PayloadSchemas;

import org.apache.avro.Schema;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.reflect.ReflectData;
import org.apache.avro.specific.SpecificData;
import org.apache.avro.specific.SpecificRecord;
import org.apache.flink.annotation.PublicEvolving;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.formats.avro.AvroDeserializationSchema;
import org.apache.flink.formats.avro.AvroSerializationSchema;
import org.apache.flink.types.Row;

/**
 * Payloads in Avro's binary form, without a header: the schema that they were written with must be
 * the reader's. Needs {@code flink-avro}.
 */
@PublicEvolving
public final class AvroSchemas {

    private AvroSchemas() {}

    /** Records of a class that Avro has generated. */
    public static <T extends SpecificRecord> PubSubDeserializationSchema<T> readingSpecific(
            Class<T> type) {
        return PayloadSchemas.of(
                AvroDeserializationSchema.forSpecific(OptionChecks.notNull("type", type)));
    }

    /** Records of a schema that is known only when the job is built. */
    public static PubSubDeserializationSchema<GenericRecord> readingGeneric(Schema schema) {
        return PayloadSchemas.of(
                AvroDeserializationSchema.forGeneric(OptionChecks.notNull("schema", schema)));
    }

    /** Objects of an ordinary class, whose schema Avro derives from its fields. */
    public static <T> PubSubDeserializationSchema<T> readingReflect(Class<T> type) {
        return PayloadSchemas.of(
                new ReflectAvro.Reading<>(
                        OptionChecks.notNull("type", type), TypeInformation.of(type)));
    }

    /**
     * Records as rows with a field for each of theirs. Records become rows, arrays Java arrays,
     * maps {@link java.util.Map}s with texts as keys, enums their names, {@code bytes} and {@code
     * fixed} arrays of bytes; {@code timestamp-millis} and {@code -micros} become {@link
     * java.time.Instant}s, {@code date} {@link java.time.LocalDate}s, {@code time-millis} and
     * {@code -micros} {@link java.time.LocalTime}s, {@code decimal} {@link java.math.BigDecimal}s.
     * Null is null.
     *
     * @throws IllegalArgumentException for what has no type as a row: records that hold themselves,
     *     and unions of other than null and one type
     */
    public static PubSubDeserializationSchema<Row> readingRows(Schema schema) {
        return PayloadSchemas.of(new AvroRows(OptionChecks.notNull("schema", schema)));
    }

    /**
     * Records of a class as rows; see {@link #readingRows(Schema)}. The class may be one that Avro
     * has generated, or an ordinary one.
     */
    public static PubSubDeserializationSchema<Row> readingRows(Class<?> type) {
        return readingRows(
                SpecificRecord.class.isAssignableFrom(type)
                        ? SpecificData.get().getSchema(type)
                        : ReflectData.get().getSchema(type));
    }

    /** Records of a class that Avro has generated. */
    public static <T extends SpecificRecord> PubSubSerializationSchema<T> writingSpecific(
            Class<T> type) {
        return PubSubSerializationSchema.payload(
                AvroSerializationSchema.forSpecific(OptionChecks.notNull("type", type)));
    }

    /** Records of a schema. */
    public static PubSubSerializationSchema<GenericRecord> writingGeneric(Schema schema) {
        return PubSubSerializationSchema.payload(
                AvroSerializationSchema.forGeneric(OptionChecks.notNull("schema", schema)));
    }

    /** Objects of an ordinary class, whose schema Avro derives from its fields. */
    public static <T> PubSubSerializationSchema<T> writingReflect(Class<T> type) {
        return PubSubSerializationSchema.payload(
                new ReflectAvro.Writing<>(OptionChecks.notNull("type", type)));
    }
}

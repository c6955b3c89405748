package io.github.flinkpubsub.formats;

import org.apache.avro.Conversions.DecimalConversion;
import org.apache.avro.LogicalType;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.IndexedRecord;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.typeinfo.LocalTimeTypeInfo;
import org.apache.flink.api.common.typeinfo.PrimitiveArrayTypeInfo;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.typeutils.ObjectArrayTypeInfo;
import org.apache.flink.types.Row;

import java.io.IOException;
import java.lang.reflect.Array;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Avro records as rows. */
final class AvroRows implements DeserializationSchema<Row> {

    private static final long serialVersionUID = 1L;

    private static final DecimalConversion DECIMAL = new DecimalConversion();

    private final String schemaText;
    private final TypeInformation<?> type;
    private transient Schema schema;
    private transient GenericDatumReader<IndexedRecord> reader;
    private transient BinaryDecoder decoder;

    AvroRows(Schema schema) {
        if (schema.getType() != Schema.Type.RECORD) {
            throw new IllegalArgumentException("rows are made of records, not of " + schema);
        }
        schemaText = schema.toString();
        type = type(schema, new LinkedHashSet<>());
    }

    private static TypeInformation<?> type(Schema schema, Set<String> around) {
        TypeInformation<?> logical = logicalType(schema.getLogicalType());
        if (logical != null) {
            return logical;
        }
        switch (schema.getType()) {
            case RECORD:
                return recordType(schema, around);
            case ARRAY:
                return ObjectArrayTypeInfo.getInfoFor(type(schema.getElementType(), around));
            case MAP:
                return Types.MAP(Types.STRING, type(schema.getValueType(), around));
            case UNION:
                return type(onlyTypeOf(schema), around);
            case INT:
                return Types.INT;
            case LONG:
                return Types.LONG;
            case FLOAT:
                return Types.FLOAT;
            case DOUBLE:
                return Types.DOUBLE;
            case BOOLEAN:
                return Types.BOOLEAN;
            case BYTES:
            case FIXED:
                return PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO;
            case STRING:
            case ENUM:
                return Types.STRING;
            default:
                throw new IllegalArgumentException("rows have no type for Avro's " + schema);
        }
    }

    private static TypeInformation<?> recordType(Schema schema, Set<String> around) {
        if (!around.add(schema.getFullName())) {
            throw new IllegalArgumentException(
                    schema.getFullName()
                            + " holds records of its own type, for which rows have no type");
        }
        List<Schema.Field> fields = schema.getFields();
        String[] names = new String[fields.size()];
        TypeInformation<?>[] types = new TypeInformation<?>[fields.size()];
        for (int i = 0; i < names.length; i++) {
            names[i] = fields.get(i).name();
            types[i] = type(fields.get(i).schema(), around);
        }
        around.remove(schema.getFullName());
        return Types.ROW_NAMED(names, types);
    }

    private static TypeInformation<?> logicalType(LogicalType logical) {
        if (logical instanceof LogicalTypes.TimestampMillis
                || logical instanceof LogicalTypes.TimestampMicros) {
            return Types.INSTANT;
        }
        if (logical instanceof LogicalTypes.Date) {
            return LocalTimeTypeInfo.LOCAL_DATE;
        }
        if (logical instanceof LogicalTypes.TimeMillis
                || logical instanceof LogicalTypes.TimeMicros) {
            return LocalTimeTypeInfo.LOCAL_TIME;
        }
        return logical instanceof LogicalTypes.Decimal ? Types.BIG_DEC : null;
    }

    /** The type beside null. */
    private static Schema onlyTypeOf(Schema union) {
        Schema only = null;
        for (Schema option : union.getTypes()) {
            if (option.getType() != Schema.Type.NULL) {
                if (only != null) {
                    throw new IllegalArgumentException(
                            "rows have no type for a union of several: " + union);
                }
                only = option;
            }
        }
        if (only == null) {
            throw new IllegalArgumentException("rows have no type for Avro's " + union);
        }
        return only;
    }

    @Override
    public Row deserialize(byte[] payload) throws IOException {
        if (reader == null) {
            schema = new Schema.Parser().parse(schemaText);
            reader = new GenericDatumReader<>(schema);
        }
        decoder = DecoderFactory.get().binaryDecoder(payload, decoder);
        return row(schema, reader.read(null, decoder));
    }

    private static Row row(Schema schema, IndexedRecord record) {
        Row row = Row.withPositions(schema.getFields().size());
        for (Schema.Field field : schema.getFields()) {
            row.setField(field.pos(), value(field.schema(), record.get(field.pos())));
        }
        return row;
    }

    private static Object value(Schema schema, Object value) {
        if (value == null) {
            return null;
        }
        if (schema.getType() == Schema.Type.UNION) {
            return value(onlyTypeOf(schema), value);
        }
        if (logicalType(schema.getLogicalType()) != null) {
            return logicalValue(schema, value);
        }
        switch (schema.getType()) {
            case RECORD:
                return row(schema, (IndexedRecord) value);
            case ARRAY:
                return array(schema.getElementType(), (List<?>) value);
            case MAP:
                Map<String, Object> map = new LinkedHashMap<>();
                ((Map<?, ?>) value)
                        .forEach(
                                (key, element) ->
                                        map.put(
                                                key.toString(),
                                                value(schema.getValueType(), element)));
                return map;
            case BYTES:
                return bytes((ByteBuffer) value);
            case FIXED:
                return ((GenericFixed) value).bytes().clone();
            case STRING:
            case ENUM:
                return value.toString();
            default:
                return value;
        }
    }

    private static Object logicalValue(Schema schema, Object value) {
        LogicalType logical = schema.getLogicalType();
        if (logical instanceof LogicalTypes.TimestampMillis) {
            return Instant.ofEpochMilli((Long) value);
        }
        if (logical instanceof LogicalTypes.TimestampMicros) {
            return Instant.EPOCH.plus((Long) value, ChronoUnit.MICROS);
        }
        if (logical instanceof LogicalTypes.Date) {
            return LocalDate.ofEpochDay((Integer) value);
        }
        if (logical instanceof LogicalTypes.TimeMillis) {
            return LocalTime.MIDNIGHT.plus((Integer) value, ChronoUnit.MILLIS);
        }
        if (logical instanceof LogicalTypes.TimeMicros) {
            return LocalTime.MIDNIGHT.plus((Long) value, ChronoUnit.MICROS);
        }
        return value instanceof GenericFixed
                ? DECIMAL.fromFixed((GenericFixed) value, schema, logical)
                : DECIMAL.fromBytes((ByteBuffer) value, schema, logical);
    }

    private static Object array(Schema elements, List<?> values) {
        Class<?> type = type(elements, new LinkedHashSet<>()).getTypeClass();
        Object array = Array.newInstance(type, values.size());
        for (int i = 0; i < values.size(); i++) {
            Array.set(array, i, value(elements, values.get(i)));
        }
        return array;
    }

    private static byte[] bytes(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return bytes;
    }

    @Override
    public boolean isEndOfStream(Row row) {
        return false;
    }

    @Override
    @SuppressWarnings("unchecked")
    public TypeInformation<Row> getProducedType() {
        return (TypeInformation<Row>) type;
    }
}

package io.github.flinkpubsub.formats;

import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;

import org.apache.flink.api.common.typeinfo.PrimitiveArrayTypeInfo;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.typeutils.ObjectArrayTypeInfo;
import org.apache.flink.types.Row;

import java.lang.reflect.Array;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Protobuf messages as rows. */
final class ProtobufRows {

    private static final String TIMESTAMP = "google.protobuf.Timestamp";

    private ProtobufRows() {}

    /** The rows' type, with named fields. */
    static TypeInformation<Row> type(Descriptor descriptor) {
        return type(descriptor, new LinkedHashSet<>());
    }

    private static TypeInformation<Row> type(Descriptor descriptor, Set<Descriptor> around) {
        if (!around.add(descriptor)) {
            throw new IllegalArgumentException(
                    descriptor.getFullName()
                            + " holds messages of its own type, for which rows have no type");
        }
        List<FieldDescriptor> fields = descriptor.getFields();
        String[] names = new String[fields.size()];
        TypeInformation<?>[] types = new TypeInformation<?>[fields.size()];
        for (int i = 0; i < names.length; i++) {
            names[i] = fields.get(i).getName();
            types[i] = type(fields.get(i), around);
        }
        around.remove(descriptor);
        return Types.ROW_NAMED(names, types);
    }

    private static TypeInformation<?> type(FieldDescriptor field, Set<Descriptor> around) {
        if (field.isMapField()) {
            Descriptor entry = field.getMessageType();
            return Types.MAP(
                    single(entry.findFieldByNumber(1), around),
                    single(entry.findFieldByNumber(2), around));
        }
        TypeInformation<?> single = single(field, around);
        return field.isRepeated() ? ObjectArrayTypeInfo.getInfoFor(single) : single;
    }

    private static TypeInformation<?> single(FieldDescriptor field, Set<Descriptor> around) {
        switch (field.getJavaType()) {
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
            case BYTE_STRING:
                return PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO;
            case MESSAGE:
                return field.getMessageType().getFullName().equals(TIMESTAMP)
                        ? Types.INSTANT
                        : type(field.getMessageType(), around);
            default:
                return Types.STRING;
        }
    }

    static Row row(Message message) {
        Row row = Row.withPositions(message.getDescriptorForType().getFields().size());
        int position = 0;
        for (FieldDescriptor field : message.getDescriptorForType().getFields()) {
            row.setField(position++, value(message, field));
        }
        return row;
    }

    private static Object value(Message message, FieldDescriptor field) {
        if (field.isMapField()) {
            Map<Object, Object> map = new LinkedHashMap<>();
            FieldDescriptor key = field.getMessageType().findFieldByNumber(1);
            FieldDescriptor value = field.getMessageType().findFieldByNumber(2);
            for (Object entry : (List<?>) message.getField(field)) {
                Message pair = (Message) entry;
                map.put(single(key, pair.getField(key)), single(value, pair.getField(value)));
            }
            return map;
        }
        if (field.isRepeated()) {
            List<Object> values = new ArrayList<>();
            for (Object value : (List<?>) message.getField(field)) {
                values.add(single(field, value));
            }
            return values.toArray(
                    (Object[])
                            Array.newInstance(
                                    single(field, new LinkedHashSet<>()).getTypeClass(), 0));
        }
        return field.hasPresence() && !message.hasField(field)
                ? null
                : single(field, message.getField(field));
    }

    private static Object single(FieldDescriptor field, Object value) {
        if (value instanceof ByteString) {
            return ((ByteString) value).toByteArray();
        }
        if (value instanceof EnumValueDescriptor) {
            return ((EnumValueDescriptor) value).getName();
        }
        if (value instanceof Message) {
            Message message = (Message) value;
            return field.getMessageType().getFullName().equals(TIMESTAMP)
                    ? instant(message)
                    : row(message);
        }
        return value;
    }

    private static Instant instant(Message timestamp) {
        Descriptor type = timestamp.getDescriptorForType();
        return Instant.ofEpochSecond(
                (Long) timestamp.getField(type.findFieldByNumber(1)),
                (Integer) timestamp.getField(type.findFieldByNumber(2)));
    }
}

package io.github.flinkpubsub.formats;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;

import org.apache.flink.annotation.PublicEvolving;
import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.serialization.SerializerConfig;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeutils.TypeSerializer;

/**
 * The type of protobuf messages. Flink serializes them in protobuf's own form, so fields may be
 * added between a savepoint and its restore.
 *
 * @param <T> the messages' class
 */
@PublicEvolving
public final class ProtobufTypeInfo<T extends Message> extends TypeInformation<T> {

    private static final long serialVersionUID = 1L;

    private final MessageKind<T> kind;

    ProtobufTypeInfo(MessageKind<T> kind) {
        this.kind = kind;
    }

    /**
     * The messages of a generated class.
     *
     * @throws IllegalArgumentException for another class
     */
    public static <T extends Message> ProtobufTypeInfo<T> forClass(Class<T> type) {
        return new ProtobufTypeInfo<>(MessageKind.of(type));
    }

    /** The messages of a descriptor. */
    public static ProtobufTypeInfo<DynamicMessage> forDescriptor(Descriptor descriptor) {
        return new ProtobufTypeInfo<>(MessageKind.of(descriptor));
    }

    @Override
    public TypeSerializer<T> createSerializer(SerializerConfig config) {
        return new ProtobufSerializer<>(kind);
    }

    /** What Flink 1 has beside the other; Flink 2 does not. */
    public TypeSerializer<T> createSerializer(ExecutionConfig config) {
        return new ProtobufSerializer<>(kind);
    }

    @Override
    public Class<T> getTypeClass() {
        return kind.type();
    }

    @Override
    public boolean isBasicType() {
        return false;
    }

    @Override
    public boolean isTupleType() {
        return false;
    }

    @Override
    public int getArity() {
        return 1;
    }

    @Override
    public int getTotalFields() {
        return 1;
    }

    @Override
    public boolean isKeyType() {
        return false;
    }

    @Override
    public boolean canEqual(Object other) {
        return other instanceof ProtobufTypeInfo;
    }

    @Override
    public boolean equals(Object other) {
        return canEqual(other) && kind.equals(((ProtobufTypeInfo<?>) other).kind);
    }

    @Override
    public int hashCode() {
        return kind.hashCode();
    }

    @Override
    public String toString() {
        return "Protobuf(" + kind + ")";
    }
}

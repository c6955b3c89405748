package io.github.flinkpubsub;

import org.apache.flink.annotation.PublicEvolving;
import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.serialization.SerializerConfig;
import org.apache.flink.api.common.typeinfo.TypeInfoFactory;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeutils.TypeSerializer;

import java.lang.reflect.Type;
import java.util.Map;

/** The type of {@link PubSubRecord}s. */
@PublicEvolving
public final class PubSubRecordTypeInfo extends TypeInformation<PubSubRecord> {

    /** The one instance. */
    public static final PubSubRecordTypeInfo INSTANCE = new PubSubRecordTypeInfo();

    private static final long serialVersionUID = 1L;

    private PubSubRecordTypeInfo() {}

    @Override
    public TypeSerializer<PubSubRecord> createSerializer(SerializerConfig config) {
        return PubSubRecordSerializer.INSTANCE;
    }

    /** What Flink 1 has beside the other; Flink 2 does not. */
    public TypeSerializer<PubSubRecord> createSerializer(ExecutionConfig config) {
        return PubSubRecordSerializer.INSTANCE;
    }

    @Override
    public Class<PubSubRecord> getTypeClass() {
        return PubSubRecord.class;
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

    /** Equal records have equal hash codes. */
    @Override
    public boolean isKeyType() {
        return true;
    }

    @Override
    public boolean isSortKeyType() {
        return false;
    }

    @Override
    public boolean canEqual(Object other) {
        return other instanceof PubSubRecordTypeInfo;
    }

    @Override
    public boolean equals(Object other) {
        return canEqual(other);
    }

    @Override
    public int hashCode() {
        return PubSubRecordTypeInfo.class.hashCode();
    }

    @Override
    public String toString() {
        return "PubSubRecord";
    }

    private Object readResolve() {
        return INSTANCE;
    }

    /** How Flink finds this type from the class. */
    @PublicEvolving
    public static final class Factory extends TypeInfoFactory<PubSubRecord> {
        @Override
        public TypeInformation<PubSubRecord> createTypeInfo(
                Type type, Map<String, TypeInformation<?>> parameters) {
            return INSTANCE;
        }
    }
}

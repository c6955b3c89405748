package io.github.flinkpubsub;

import org.apache.flink.annotation.Internal;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.base.TypeSerializerSingleton;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;
import org.apache.flink.types.StringValue;

import java.io.IOException;
import java.time.Instant;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

import javax.annotation.Nullable;

/**
 * Writes {@link PubSubRecord}s: a byte of flags (bits 0 to 3: message id, publish time, ordering
 * key, topic), the payload's length (int) and bytes, the number of attributes (int) with each name
 * and value, then what the flags say: message id, publish time (seconds as long, nanoseconds as
 * int), ordering key, topic's path. Texts are Flink's {@link StringValue}s.
 */
@Internal
public final class PubSubRecordSerializer extends TypeSerializerSingleton<PubSubRecord> {

    public static final PubSubRecordSerializer INSTANCE = new PubSubRecordSerializer();

    private static final long serialVersionUID = 1L;

    private static final int MESSAGE_ID = 1;
    private static final int PUBLISH_TIME = 2;
    private static final int ORDERING_KEY = 4;
    private static final int TOPIC = 8;
    private static final int ALL = 15;

    private static final PubSubRecord EMPTY = PubSubRecord.of(new byte[0]);

    private PubSubRecordSerializer() {}

    @Override
    public boolean isImmutableType() {
        return true;
    }

    @Override
    public PubSubRecord createInstance() {
        return EMPTY;
    }

    @Override
    public PubSubRecord copy(PubSubRecord from) {
        return from;
    }

    @Override
    public PubSubRecord copy(PubSubRecord from, PubSubRecord reuse) {
        return from;
    }

    @Override
    public int getLength() {
        return -1;
    }

    @Override
    public void serialize(PubSubRecord record, DataOutputView out) throws IOException {
        out.writeByte(
                flag(MESSAGE_ID, record.messageId())
                        | flag(PUBLISH_TIME, record.publishTime())
                        | flag(ORDERING_KEY, record.orderingKey())
                        | flag(TOPIC, record.topic()));
        byte[] payload = record.payloadArray();
        out.writeInt(payload.length);
        out.write(payload);
        Map<String, String> attributes = record.attributes();
        out.writeInt(attributes.size());
        for (Map.Entry<String, String> attribute : attributes.entrySet()) {
            StringValue.writeString(attribute.getKey(), out);
            StringValue.writeString(attribute.getValue(), out);
        }
        if (record.messageId() != null) {
            StringValue.writeString(record.messageId(), out);
        }
        if (record.publishTime() != null) {
            out.writeLong(record.publishTime().getEpochSecond());
            out.writeInt(record.publishTime().getNano());
        }
        if (record.orderingKey() != null) {
            StringValue.writeString(record.orderingKey(), out);
        }
        if (record.topic() != null) {
            StringValue.writeString(record.topic().path(), out);
        }
    }

    private static int flag(int flag, @Nullable Object part) {
        return part == null ? 0 : flag;
    }

    @Override
    public PubSubRecord deserialize(DataInputView in) throws IOException {
        int flags = in.readUnsignedByte();
        if (flags > ALL) {
            throw new IOException("not a PubSubRecord: its flags are " + flags);
        }
        byte[] payload = new byte[in.readInt()];
        in.readFully(payload);
        int count = in.readInt();
        Map<String, String> attributes =
                count == 0 ? Collections.emptyMap() : new LinkedHashMap<>();
        for (int left = count; left > 0; left--) {
            String name = StringValue.readString(in);
            attributes.put(name, StringValue.readString(in));
        }
        String messageId = (flags & MESSAGE_ID) == 0 ? null : StringValue.readString(in);
        Instant publishTime =
                (flags & PUBLISH_TIME) == 0
                        ? null
                        : Instant.ofEpochSecond(in.readLong(), in.readInt());
        String orderingKey = (flags & ORDERING_KEY) == 0 ? null : StringValue.readString(in);
        TopicDestination topic =
                (flags & TOPIC) == 0 ? null : TopicDestination.parse(StringValue.readString(in));
        return new PubSubRecord(payload, attributes, messageId, publishTime, orderingKey, topic);
    }

    @Override
    public PubSubRecord deserialize(PubSubRecord reuse, DataInputView in) throws IOException {
        return deserialize(in);
    }

    @Override
    public void copy(DataInputView in, DataOutputView out) throws IOException {
        serialize(deserialize(in), out);
    }

    private Object readResolve() {
        return INSTANCE;
    }

    @Override
    public TypeSerializerSnapshot<PubSubRecord> snapshotConfiguration() {
        return new Snapshot();
    }

    /** Names the serializer in savepoints; a new form of records would bring a new one. */
    public static final class Snapshot extends SimpleTypeSerializerSnapshot<PubSubRecord> {
        public Snapshot() {
            super(() -> INSTANCE);
        }
    }
}

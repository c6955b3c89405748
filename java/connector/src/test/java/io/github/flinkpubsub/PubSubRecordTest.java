package io.github.flinkpubsub;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.util.InstantiationUtil;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.time.Instant;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;

class PubSubRecordTest {

    private static final TopicDestination TOPIC = TopicDestination.of("p", "topic");

    private static final PubSubRecord FULL =
            new PubSubRecord(
                    new byte[] {0, -1, 'x'},
                    Map.of("nul\u0000", "é😀"),
                    "id-1",
                    Instant.ofEpochSecond(-5, 999_999_999),
                    "key",
                    TOPIC);

    /** {@link #FULL} and its serializer's snapshot as version 0.1.0 writes them. */
    private static final String FULL_BYTES =
            "DwAAAAMA/3gAAAABBW51bAAE6QG9sAOAvAMFaWQtMf/////////7O5rJ/wRrZXkYcHJvamVjdHMvcC90b3BpY3MvdG9waWM=";

    private static final String SNAPSHOT =
            "ADVpby5naXRodWIuZmxpbmtwdWJzdWIuUHViU3ViUmVjb3JkU2VyaWFsaXplciRTbmFwc2hvdAAAAAM=";

    private final TypeSerializer<PubSubRecord> serializer = PubSubRecordSerializer.INSTANCE;

    private static byte[] write(PubSubRecord record) throws IOException {
        DataOutputSerializer out = new DataOutputSerializer(16);
        PubSubRecordSerializer.INSTANCE.serialize(record, out);
        return out.getCopyOfBuffer();
    }

    private static PubSubRecord read(byte[] bytes) throws IOException {
        DataInputDeserializer in = new DataInputDeserializer(bytes);
        PubSubRecord record = PubSubRecordSerializer.INSTANCE.deserialize(in);
        assertThat(in.available()).isZero();
        return record;
    }

    @Test
    void cannotBeChanged() {
        byte[] payload = {1, 2};
        Map<String, String> attributes = new HashMap<>(Map.of("a", "1"));
        PubSubRecord record = PubSubRecord.of(payload).withAttributes(attributes);
        payload[0] = 9;
        attributes.put("b", "2");
        record.payload()[1] = 9;
        assertThat(record.payload()).containsExactly(1, 2);
        assertThat(record.attributes()).isEqualTo(Map.of("a", "1"));
        assertThatThrownBy(() -> record.attributes().put("c", "3"))
                .isInstanceOf(UnsupportedOperationException.class);
        assertThat(record.withAttribute("a", "2").attributes()).isEqualTo(Map.of("a", "2"));
        assertThat(record.attribute("a")).isEqualTo("1");
    }

    @Test
    void hasItsParts() {
        PubSubRecord record =
                PubSubRecord.of("text")
                        .withOrderingKey("k")
                        .withTopic(TOPIC)
                        .withAttribute("a", "");
        assertThat(record.text()).isEqualTo("text");
        assertThat(record.orderingKey()).isEqualTo("k");
        assertThat(record.topic()).isEqualTo(TOPIC);
        assertThat(record.attribute("a")).isEmpty();
        assertThat(record.attribute("b")).isNull();
        assertThat(record.messageId()).isNull();
        assertThat(record.publishTime()).isNull();
        assertThat(record.withOrderingKey("").orderingKey()).isNull();
        assertThat(FULL.messageId()).isEqualTo("id-1");
        assertThat(FULL.publishTime()).isEqualTo(Instant.ofEpochSecond(-5, 999_999_999));
        assertThat(FULL.toString()).contains("3 bytes").contains("id-1").contains("key");
    }

    @Test
    void nullsAreNamed() {
        PubSubRecord record = PubSubRecord.of("a");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> record.withAttribute("name", null))
                .withMessageContaining("'name'");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> record.withAttribute(null, ""))
                .withMessageContaining("name of an attribute");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PubSubRecord.of((byte[]) null))
                .withMessageContaining("payload");
    }

    @Test
    void everyPartCountsForEquality() throws Exception {
        PubSubRecord same = read(write(FULL));
        assertThat(same).isEqualTo(FULL).hasSameHashCodeAs(FULL);
        assertThat(PubSubRecord.of("a")).isEqualTo(PubSubRecord.of("a"));
        assertThat(PubSubRecord.of("a"))
                .isNotEqualTo(PubSubRecord.of("b"))
                .isNotEqualTo(PubSubRecord.of("a").withAttribute("a", "1"))
                .isNotEqualTo(PubSubRecord.of("a").withOrderingKey("k"))
                .isNotEqualTo(PubSubRecord.of("a").withTopic(TOPIC));
    }

    @Test
    void survivesSerialization() throws Exception {
        PubSubRecord bare = PubSubRecord.of(new byte[0]);
        assertThat(read(write(bare))).isEqualTo(bare);
        assertThat(read(write(FULL))).isEqualTo(FULL);
        DataOutputSerializer copy = new DataOutputSerializer(16);
        serializer.copy(new DataInputDeserializer(write(FULL)), copy);
        assertThat(copy.getCopyOfBuffer()).isEqualTo(write(FULL));
        assertThat(serializer.copy(FULL)).isSameAs(FULL);
        assertThatThrownBy(() -> read(new byte[] {16})).hasMessageContaining("flags are 16");
    }

    @Test
    void isWrittenAndReadAsInTheFirstVersion() throws Exception {
        assertThat(Base64.getEncoder().encodeToString(write(FULL))).isEqualTo(FULL_BYTES);
        assertThat(read(Base64.getDecoder().decode(FULL_BYTES))).isEqualTo(FULL);
    }

    @Test
    void stateOfTheFirstVersionIsCompatible() throws Exception {
        DataOutputSerializer out = new DataOutputSerializer(64);
        TypeSerializerSnapshot.writeVersionedSnapshot(out, serializer.snapshotConfiguration());
        assertThat(Base64.getEncoder().encodeToString(out.getCopyOfBuffer())).isEqualTo(SNAPSHOT);

        TypeSerializerSnapshot<PubSubRecord> old =
                TypeSerializerSnapshot.readVersionedSnapshot(
                        new DataInputDeserializer(Base64.getDecoder().decode(SNAPSHOT)),
                        getClass().getClassLoader());
        assertThat(
                        serializer
                                .snapshotConfiguration()
                                .resolveSchemaCompatibility(old)
                                .isCompatibleAsIs())
                .isTrue();
        assertThat(old.restoreSerializer()).isSameAs(serializer);
    }

    @Test
    void flinkFindsTheType() throws Exception {
        TypeInformation<PubSubRecord> type = TypeInformation.of(PubSubRecord.class);
        assertThat(type).isSameAs(PubSubRecordTypeInfo.INSTANCE);
        assertThat(
                        type.createSerializer(
                                (org.apache.flink.api.common.serialization.SerializerConfig) null))
                .isSameAs(serializer);
        assertThat(InstantiationUtil.clone(type)).isSameAs(type);
        assertThat(InstantiationUtil.<TypeSerializer<?>>clone(serializer)).isSameAs(serializer);
    }
}

package io.github.flinkpubsub.formats;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import com.google.protobuf.ByteString;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import com.google.protobuf.Struct;
import com.google.protobuf.Timestamp;
import com.google.pubsub.v1.Encoding;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.SchemaSettings;
import com.google.pubsub.v1.Subscription;
import com.google.pubsub.v1.Topic;
import com.google.rpc.BadRequest;
import com.google.rpc.LocalizedMessage;

import io.github.flinkpubsub.OutgoingMessage;
import io.github.flinkpubsub.PubSubDeserializationSchema;
import io.github.flinkpubsub.PubSubSerializationSchema;
import io.github.flinkpubsub.TestMessage;

import org.apache.flink.api.common.serialization.SerializerConfig;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.api.java.typeutils.RowTypeInfo;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.types.Row;
import org.apache.flink.util.InstantiationUtil;
import org.junit.jupiter.api.Test;

import java.time.Instant;
import java.util.Arrays;
import java.util.Base64;
import java.util.Map;

class ProtobufSchemasTest {

    private static final PubsubMessage MESSAGE =
            PubsubMessage.newBuilder()
                    .setData(ByteString.copyFromUtf8("data"))
                    .putAttributes("a", "1")
                    .setMessageId("id")
                    .setPublishTime(Timestamp.newBuilder().setSeconds(7).setNanos(8))
                    .build();

    /** The snapshot of version 0.1.0 for {@link Topic}. */
    private static final String SNAPSHOT =
            "ADlpby5naXRodWIuZmxpbmtwdWJzdWIuZm9ybWF0cy5Qcm90b2J1ZlNlcmlhbGl6ZXIkU25hcHNob3QAAAABAAAaY29tLmdvb2dsZS5wdWJzdWIudjEuVG9waWM=";

    private static <T> T only(PubSubDeserializationSchema<T> schema, Message message)
            throws Exception {
        return new TestMessage(message.toByteArray(), Map.of())
                .decode(InstantiationUtil.clone(schema))
                .get(0);
    }

    private static <T> TypeSerializer<T> serializer(TypeInformation<T> type) {
        return type.createSerializer((SerializerConfig) null);
    }

    private static <T> T travelled(TypeInformation<T> type, T record) throws Exception {
        TypeSerializer<T> serializer = serializer(type);
        DataOutputSerializer out = new DataOutputSerializer(16);
        serializer.serialize(record, out);
        DataOutputSerializer copy = new DataOutputSerializer(16);
        serializer.copy(new DataInputDeserializer(out.getCopyOfBuffer()), copy);
        assertThat(copy.getCopyOfBuffer()).isEqualTo(out.getCopyOfBuffer());
        DataInputDeserializer in = new DataInputDeserializer(out.getCopyOfBuffer());
        T read = InstantiationUtil.<TypeSerializer<T>>clone(serializer).deserialize(in);
        assertThat(in.available()).isZero();
        return read;
    }

    @Test
    void aGeneratedClass() throws Exception {
        PubSubDeserializationSchema<PubsubMessage> schema =
                ProtobufSchemas.reading(PubsubMessage.class);
        assertThat(only(schema, MESSAGE)).isEqualTo(MESSAGE);
        assertThat(schema.getProducedType())
                .isEqualTo(ProtobufTypeInfo.forClass(PubsubMessage.class))
                .isNotEqualTo(ProtobufTypeInfo.forClass(Topic.class));
        assertThat(travelled(schema.getProducedType(), MESSAGE)).isEqualTo(MESSAGE);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ProtobufSchemas.reading(Message.class))
                .withMessageContaining("com.google.protobuf.Message is not a class that protoc");
    }

    @Test
    void aDescriptor() throws Exception {
        PubSubDeserializationSchema<DynamicMessage> schema =
                ProtobufSchemas.reading(PubsubMessage.getDescriptor());
        DynamicMessage read = only(schema, MESSAGE);
        assertThat(read.getField(read.getDescriptorForType().findFieldByName("message_id")))
                .isEqualTo("id");
        assertThat(travelled(schema.getProducedType(), read).toByteString())
                .isEqualTo(MESSAGE.toByteString());
        // A message within another, of a file with imports.
        DynamicMessage nested =
                only(
                        ProtobufSchemas.reading(
                                Subscription.AnalyticsHubSubscriptionInfo.getDescriptor()),
                        Subscription.AnalyticsHubSubscriptionInfo.newBuilder()
                                .setListing("l")
                                .build());
        assertThat(nested.getAllFields().values()).containsExactly("l");
    }

    @Test
    void rows() throws Exception {
        PubSubDeserializationSchema<Row> schema = ProtobufSchemas.readingRows(PubsubMessage.class);
        RowTypeInfo type = (RowTypeInfo) schema.getProducedType();
        assertThat(type.getFieldNames())
                .containsExactly(
                        "data", "attributes", "message_id", "publish_time", "ordering_key");
        assertThat(type.getTypeAt("attributes")).isEqualTo(Types.MAP(Types.STRING, Types.STRING));
        assertThat(type.getTypeAt("publish_time")).isEqualTo(Types.INSTANT);
        Row row = travelled(schema.getProducedType(), only(schema, MESSAGE));
        assertThat(row.getField(0)).isEqualTo(new byte[] {'d', 'a', 't', 'a'});
        assertThat(row.getField(1)).isEqualTo(Map.of("a", "1"));
        assertThat(row.getField(2)).isEqualTo("id");
        assertThat(row.getField(3)).isEqualTo(Instant.ofEpochSecond(7, 8));
        assertThat(row.getField(4)).isEqualTo("");
        Row unset = only(schema, PubsubMessage.getDefaultInstance());
        assertThat(unset.getField(3)).isNull();
        assertThat(travelled(schema.getProducedType(), unset)).isEqualTo(unset);
    }

    @Test
    void rowsOfNestedAndRepeatedMessagesAndEnums() throws Exception {
        BadRequest bad =
                BadRequest.newBuilder()
                        .addFieldViolations(
                                BadRequest.FieldViolation.newBuilder()
                                        .setField("f")
                                        .setLocalizedMessage(
                                                LocalizedMessage.newBuilder().setLocale("de")))
                        .addFieldViolations(BadRequest.FieldViolation.newBuilder().setField("g"))
                        .build();
        PubSubDeserializationSchema<Row> schema =
                ProtobufSchemas.readingRows(BadRequest.getDescriptor());
        Row row = travelled(schema.getProducedType(), only(schema, bad));
        assertThat((Object[]) row.getField(0))
                .containsExactly(Row.of("f", "", "", Row.of("de", "")), Row.of("g", "", "", null));

        Row settings =
                only(
                        ProtobufSchemas.readingRows(SchemaSettings.class),
                        SchemaSettings.newBuilder().setEncoding(Encoding.JSON).build());
        assertThat(settings).isEqualTo(Row.of("", "JSON", "", ""));
    }

    @Test
    void aMessageThatHoldsItselfIsRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ProtobufSchemas.readingRows(Struct.class))
                .withMessageContaining("google.protobuf.Struct holds messages of its own type");
    }

    @Test
    void writing() throws Exception {
        OutgoingMessage message = new OutgoingMessage();
        PubSubSerializationSchema<PubsubMessage> schema =
                InstantiationUtil.clone(ProtobufSchemas.<PubsubMessage>writing());
        assertThat(schema.serialize(MESSAGE, null, message)).isTrue();
        assertThat(Arrays.copyOf(message.payload(), message.payloadLength()))
                .isEqualTo(MESSAGE.toByteArray());
    }

    @Test
    void stateOfTheFirstVersionIsCompatible() throws Exception {
        TypeSerializer<Topic> serializer = serializer(ProtobufTypeInfo.forClass(Topic.class));
        DataOutputSerializer out = new DataOutputSerializer(64);
        TypeSerializerSnapshot.writeVersionedSnapshot(out, serializer.snapshotConfiguration());
        assertThat(Base64.getEncoder().encodeToString(out.getCopyOfBuffer())).isEqualTo(SNAPSHOT);
        TypeSerializerSnapshot<Topic> old = read(Base64.getDecoder().decode(SNAPSHOT));
        assertThat(
                        serializer
                                .snapshotConfiguration()
                                .resolveSchemaCompatibility(old)
                                .isCompatibleAsIs())
                .isTrue();
        assertThat(old.restoreSerializer()).isEqualTo(serializer);
    }

    @Test
    void stateOfDynamicMessagesKnowsTheirDescriptors() throws Exception {
        DataOutputSerializer out = new DataOutputSerializer(64);
        TypeSerializerSnapshot.writeVersionedSnapshot(
                out,
                serializer(ProtobufTypeInfo.forDescriptor(Topic.getDescriptor()))
                        .snapshotConfiguration());
        TypeSerializerSnapshot<DynamicMessage> old = read(out.getCopyOfBuffer());
        assertThat(old.restoreSerializer().createInstance().getDescriptorForType().getFullName())
                .isEqualTo("google.pubsub.v1.Topic");
        assertThat(
                        serializer(ProtobufTypeInfo.forDescriptor(Topic.getDescriptor()))
                                .snapshotConfiguration()
                                .resolveSchemaCompatibility(old)
                                .isCompatibleAsIs())
                .isTrue();
        assertThat(
                        serializer(ProtobufTypeInfo.forDescriptor(Struct.getDescriptor()))
                                .snapshotConfiguration()
                                .resolveSchemaCompatibility(old)
                                .isIncompatible())
                .isTrue();
    }

    private <T> TypeSerializerSnapshot<T> read(byte[] bytes) throws Exception {
        return TypeSerializerSnapshot.readVersionedSnapshot(
                new DataInputDeserializer(bytes), getClass().getClassLoader());
    }
}

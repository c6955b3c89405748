package io.github.flinkpubsub.formats;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.github.flinkpubsub.OutgoingMessage;
import io.github.flinkpubsub.PubSubDeserializationSchema;
import io.github.flinkpubsub.PubSubSerializationSchema;
import io.github.flinkpubsub.TestMessage;

import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.generic.GenericRecordBuilder;
import org.apache.flink.api.common.serialization.SerializerConfig;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.typeutils.PojoTypeInfo;
import org.apache.flink.api.java.typeutils.RowTypeInfo;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.types.Row;
import org.apache.flink.util.InstantiationUtil;
import org.junit.jupiter.api.Test;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

class AvroSchemasTest {

    private static final Schema EVERYTHING =
            new Schema.Parser()
                    .parse(
                            json(
                                    "{'type':'record','name':'R','fields':["
                                        + "{'name':'text','type':'string'},"
                                        + "{'name':'maybe','type':['null','int']},"
                                        + "{'name':'at','type':{'type':'long','logicalType':'timestamp-millis'}},"
                                        + "{'name':'micros','type':{'type':'long','logicalType':'timestamp-micros'}},"
                                        + "{'name':'day','type':{'type':'int','logicalType':'date'}},"
                                        + "{'name':'time','type':{'type':'int','logicalType':'time-millis'}},"
                                        + "{'name':'price','type':{'type':'bytes','logicalType':'decimal','precision':5,'scale':2}},"
                                        + "{'name':'bytes','type':'bytes'},"
                                        + "{'name':'list','type':{'type':'array','items':['null','string']}},"
                                        + "{'name':'map','type':{'type':'map','values':'double'}},"
                                        + "{'name':'kind','type':{'type':'enum','name':'E','symbols':['A','B']}},"
                                        + "{'name':'inner','type':{'type':'record','name':'I','fields':["
                                        + "{'name':'flag','type':'boolean'}]}}]}"));

    /** Schemas are easier to read with single quotes. */
    private static String json(String text) {
        return text.replace('\'', '"');
    }

    private static byte[] written(PubSubSerializationSchema<?> schema, Object record)
            throws Exception {
        @SuppressWarnings("unchecked")
        PubSubSerializationSchema<Object> any =
                (PubSubSerializationSchema<Object>) InstantiationUtil.clone(schema);
        OutgoingMessage message = new OutgoingMessage();
        assertThat(any.serialize(record, null, message)).isTrue();
        return Arrays.copyOf(message.payload(), message.payloadLength());
    }

    private static <T> T read(PubSubDeserializationSchema<T> schema, byte[] payload)
            throws Exception {
        return new TestMessage(payload, Map.of()).decode(InstantiationUtil.clone(schema)).get(0);
    }

    private static <T> T travelled(TypeInformation<T> type, T record) throws Exception {
        TypeSerializer<T> serializer = type.createSerializer(config());
        DataOutputSerializer out = new DataOutputSerializer(16);
        serializer.serialize(record, out);
        return serializer.deserialize(new DataInputDeserializer(out.getCopyOfBuffer()));
    }

    private static SerializerConfig config() {
        return new org.apache.flink.api.common.serialization.SerializerConfigImpl();
    }

    @Test
    void aGeneratedClass() throws Exception {
        byte[] payload =
                written(AvroSchemas.writingSpecific(Purchase.class), new Purchase("Maria", 3));
        PubSubDeserializationSchema<Purchase> schema = AvroSchemas.readingSpecific(Purchase.class);
        Purchase read = read(schema, payload);
        assertThat(read).isEqualTo(new Purchase("Maria", 3));
        assertThat(travelled(schema.getProducedType(), read)).isEqualTo(read);
    }

    @Test
    void aSchema() throws Exception {
        GenericRecord record =
                new GenericRecordBuilder(Purchase.SCHEMA$)
                        .set("buyer", "Juan")
                        .set("amount", 4L)
                        .build();
        byte[] payload = written(AvroSchemas.writingGeneric(Purchase.SCHEMA$), record);
        PubSubDeserializationSchema<GenericRecord> schema =
                AvroSchemas.readingGeneric(Purchase.SCHEMA$);
        GenericRecord read = travelled(schema.getProducedType(), read(schema, payload));
        assertThat(read.get("buyer")).hasToString("Juan");
        assertThat(read.get("amount")).isEqualTo(4L);
    }

    @Test
    void anOrdinaryClass() throws Exception {
        byte[] payload = written(AvroSchemas.writingReflect(Visit.class), new Visit("/", 5));
        PubSubDeserializationSchema<Visit> schema = AvroSchemas.readingReflect(Visit.class);
        assertThat(schema.getProducedType()).isInstanceOf(PojoTypeInfo.class);
        assertThat(travelled(schema.getProducedType(), read(schema, payload)))
                .isEqualTo(new Visit("/", 5));
        assertThat(read(AvroSchemas.readingRows(Visit.class), payload)).isEqualTo(Row.of("/", 5));
    }

    @Test
    void rows() throws Exception {
        GenericRecord record =
                new GenericRecordBuilder(EVERYTHING)
                        .set("text", "é")
                        .set("maybe", null)
                        .set("at", 7_001L)
                        .set("micros", -1L)
                        .set("day", 1)
                        .set("time", 1_000)
                        .set("price", ByteBuffer.wrap(new byte[] {1, 0}))
                        .set("bytes", ByteBuffer.wrap(new byte[] {9}))
                        .set("list", Arrays.asList("a", null))
                        .set("map", Map.of("k", 0.5))
                        .set(
                                "kind",
                                new GenericData.EnumSymbol(
                                        EVERYTHING.getField("kind").schema(), "B"))
                        .set(
                                "inner",
                                new GenericRecordBuilder(EVERYTHING.getField("inner").schema())
                                        .set("flag", true)
                                        .build())
                        .build();
        byte[] payload = written(AvroSchemas.writingGeneric(EVERYTHING), record);
        PubSubDeserializationSchema<Row> schema = AvroSchemas.readingRows(EVERYTHING);
        RowTypeInfo type = (RowTypeInfo) schema.getProducedType();
        assertThat(type.getFieldNames()).startsWith("text", "maybe", "at");
        assertThat(type.getTypeAt("maybe")).isEqualTo(Types.INT);
        Row row = travelled(schema.getProducedType(), read(schema, payload));
        assertThat(row)
                .isEqualTo(
                        Row.of(
                                "é",
                                null,
                                Instant.ofEpochMilli(7_001),
                                Instant.EPOCH.minusNanos(1_000),
                                LocalDate.of(1970, 1, 2),
                                LocalTime.of(0, 0, 1),
                                new BigDecimal("2.56"),
                                new byte[] {9},
                                new String[] {"a", null},
                                Map.of("k", 0.5),
                                "B",
                                Row.of(true)));
    }

    @Test
    void whatHasNoTypeIsRefused() {
        for (String schema :
                List.of(
                        "{'type':'record','name':'X','fields':[{'name':'u','type':['int','string']}]}",
                        "{'type':'record','name':'X','fields':[{'name':'x','type':['null','X']}]}",
                        "'string'")) {
            assertThatIllegalArgumentException()
                    .isThrownBy(
                            () -> AvroSchemas.readingRows(new Schema.Parser().parse(json(schema))))
                    .withMessageContaining("rows");
        }
    }
}

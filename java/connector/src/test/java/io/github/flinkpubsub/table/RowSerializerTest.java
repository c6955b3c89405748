package io.github.flinkpubsub.table;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.flinkpubsub.OutgoingMessage;
import io.github.flinkpubsub.TopicDestination;

import org.apache.flink.api.common.serialization.SerializationSchema;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.table.data.GenericMapData;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.junit.jupiter.api.Test;

import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;
import java.util.Map;

import javax.annotation.Nullable;

/** Messages of rows, their topics and their writers. */
class RowSerializerTest {

    /** Writes the arity and the first column. */
    private static final SerializationSchema<RowData> FORMAT =
            row ->
                    row.isNullAt(0)
                            ? null
                            : (row.getArity() + ":" + row.getInt(0))
                                    .getBytes(StandardCharsets.UTF_8);

    private static final List<WritableMetadata> ALL = List.of(WritableMetadata.values());

    private static RowSerializer serializer(
            List<WritableMetadata> columns, @Nullable String timestampAttribute) throws Exception {
        RowSerializer serializer =
                new RowSerializer(FORMAT, 1, new RowMetadata(1, columns), timestampAttribute);
        serializer.open(null);
        return serializer;
    }

    private static OutgoingMessage message(RowSerializer serializer, Object... values) {
        OutgoingMessage message = new OutgoingMessage();
        assertThat(serializer.serialize(GenericRowData.of(values), context(null), message))
                .isTrue();
        return message;
    }

    private static SinkWriter.Context context(@Nullable Long timestamp) {
        return new SinkWriter.Context() {
            @Override
            public long currentWatermark() {
                return 0;
            }

            @Override
            public Long timestamp() {
                return timestamp;
            }
        };
    }

    private static String payload(OutgoingMessage message) {
        return new String(message.payload(), StandardCharsets.UTF_8);
    }

    private static GenericMapData map(Map<String, String> entries) {
        Map<StringData, StringData> map = new java.util.LinkedHashMap<>();
        entries.forEach(
                (key, value) -> map.put(StringData.fromString(key), StringData.fromString(value)));
        return new GenericMapData(map);
    }

    @Test
    void theFormatSeesThePhysicalColumnsOnly() throws Exception {
        assertThat(payload(message(serializer(List.of(), null), 7))).isEqualTo("1:7");
        OutgoingMessage message =
                message(
                        serializer(ALL, "at"),
                        7,
                        map(Map.of("a", "x")),
                        StringData.fromString("k"),
                        StringData.fromString("top"),
                        TimestampData.fromEpochMillis(5));
        assertThat(payload(message)).isEqualTo("1:7");
        assertThat(message.orderingKey()).isEqualTo("k");
        assertThat(message.attributeCount()).isEqualTo(2);
        assertThat(message.attributeName(0)).isEqualTo("a");
        assertThat(message.attributeValue(0)).isEqualTo("x");
        assertThat(message.attributeName(1)).isEqualTo("at");
        assertThat(message.attributeValue(1)).isEqualTo("5");
    }

    @Test
    void nullAndEmptyAreNothing() throws Exception {
        OutgoingMessage nulls = message(serializer(ALL, "at"), 7, null, null, null, null);
        assertThat(nulls.orderingKey()).isNull();
        assertThat(nulls.attributeCount()).isZero();
        OutgoingMessage empty =
                message(
                        serializer(ALL, "at"),
                        7,
                        map(Map.of()),
                        StringData.fromString(""),
                        null,
                        null);
        assertThat(empty.orderingKey()).isNull();
        assertThat(empty.attributeCount()).isZero();
    }

    @Test
    void aNullInAttributesIsAnError() throws Exception {
        RowSerializer serializer = serializer(List.of(WritableMetadata.ATTRIBUTES), null);
        assertThatThrownBy(() -> message(serializer, 7, map(Collections.singletonMap("a", null))))
                .hasMessage("'attributes' has the value NULL for the key 'a'");
        assertThatThrownBy(() -> message(serializer, 7, map(Collections.singletonMap(null, "a"))))
                .hasMessage("'attributes' has a key that is NULL");
    }

    @Test
    void aRowWithoutAPayloadIsAnError() throws Exception {
        RowSerializer serializer = serializer(List.of(), null);
        assertThatThrownBy(() -> message(serializer, (Object) null))
                .hasMessageContaining("no payload");
    }

    @Test
    void theTimestampOfTheRecordIsTakenWithoutAColumn() throws Exception {
        RowSerializer serializer = serializer(List.of(), "at");
        OutgoingMessage message = new OutgoingMessage();
        serializer.serialize(GenericRowData.of(7), context(1_234L), message);
        assertThat(message.attributeValue(0)).isEqualTo("1234");
        assertThatThrownBy(() -> message(serializer, 7))
                .hasMessageContaining("'sink.timestamp-attribute'");
    }

    @Test
    void aTopicIsAnIdOrAPath() {
        RowMetadata metadata = new RowMetadata(1, List.of(WritableMetadata.TOPIC));
        RowTopic topic = new RowTopic(metadata, "example.com:p", TopicDestination.of("p", "one"));
        assertThat(topic.resolve(GenericRowData.of(1, StringData.fromString("two")), context(null)))
                .isEqualTo(TopicDestination.of("example.com:p", "two"))
                .isSameAs(
                        topic.resolve(
                                GenericRowData.of(2, StringData.fromString("two")), context(null)));
        assertThat(
                        topic.resolve(
                                GenericRowData.of(
                                        1, StringData.fromString("projects/q/topics/xxx")),
                                context(null)))
                .isEqualTo(TopicDestination.of("q", "xxx"));
        assertThat(topic.resolve(GenericRowData.of(1, null), context(null)))
                .isEqualTo(TopicDestination.of("p", "one"));
        assertThatThrownBy(
                        () ->
                                new RowTopic(metadata, "p", null)
                                        .resolve(GenericRowData.of(1, null), context(null)))
                .hasMessageContaining("'topic' is NULL");
    }

    @Test
    void equalKeysHaveOneWriterAndRowsWithoutAKeyAll() {
        OrderingKeyPartitioner partitioner = new OrderingKeyPartitioner();
        int[] byKey = new int[3];
        for (int i = 0; i < 300; i++) {
            int writer = partitioner.partition("key-" + i, 3);
            assertThat(partitioner.partition("key-" + i, 3)).isEqualTo(writer);
            byKey[writer]++;
        }
        assertThat(java.util.Arrays.stream(byKey).min().getAsInt()).isGreaterThan(60);
        int[] without = new int[3];
        for (int i = 0; i < 300; i++) {
            without[partitioner.partition(null, 3)]++;
        }
        assertThat(without).containsOnly(100);
    }
}

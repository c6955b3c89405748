package io.github.flinkpubsub;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.flinkpubsub.PubSubRecord.Part;
import io.github.flinkpubsub.sink.DestinationResolver;

import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.util.Collector;
import org.apache.flink.util.InstantiationUtil;
import org.junit.jupiter.api.Test;

import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Map;

class MessageSchemasTest {

    private static final Instant PUBLISHED = TestMessage.PUBLISHED;

    private static <T> List<T> decode(
            PubSubDeserializationSchema<T> schema, Map<String, String> attributes)
            throws Exception {
        PubSubDeserializationSchema<T> travelled = InstantiationUtil.clone(schema);
        assertThat(travelled.getProducedType()).isEqualTo(schema.getProducedType());
        return new TestMessage("a,b".getBytes(StandardCharsets.UTF_8), attributes)
                .decode(travelled);
    }

    @Test
    void recordsHaveEveryPart() throws Exception {
        assertThat(decode(PubSubDeserializationSchema.records(), Map.of("a", "1")))
                .containsExactly(
                        new PubSubRecord(
                                "a,b".getBytes(StandardCharsets.UTF_8),
                                Map.of("a", "1"),
                                "12",
                                PUBLISHED,
                                "key",
                                null));
    }

    @Test
    void recordsHaveThePartsThatAreWanted() throws Exception {
        assertThat(decode(PubSubDeserializationSchema.recordsWith(), Map.of("a", "1")))
                .containsExactly(PubSubRecord.of("a,b"));
        assertThat(
                        decode(
                                PubSubDeserializationSchema.recordsWith(
                                        Part.ATTRIBUTES, Part.ORDERING_KEY),
                                Map.of("a", "1")))
                .containsExactly(
                        PubSubRecord.of("a,b").withAttribute("a", "1").withOrderingKey("key"));
    }

    @Test
    void aFunctionParses() throws Exception {
        assertThat(
                        decode(
                                PubSubDeserializationSchema.parsing(
                                        Types.INT, message -> message.payloadSize()),
                                Map.of()))
                .containsExactly(3);
        assertThat(
                        decode(
                                PubSubDeserializationSchema.parsing(Types.INT, message -> null),
                                Map.of()))
                .isEmpty();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PubSubDeserializationSchema.parsing(null, message -> 1))
                .withMessageContaining("type");
    }

    private static PubSubDeserializationSchema<String> split() {
        return new PubSubDeserializationSchema<>() {
            private static final long serialVersionUID = 1L;

            @Override
            public void deserialize(PubSubMessage message, Collector<String> out) {
                for (String part :
                        new String(message.payloadBytes(), StandardCharsets.UTF_8).split(",")) {
                    out.collect(part);
                }
            }

            @Override
            public org.apache.flink.api.common.typeinfo.TypeInformation<String> getProducedType() {
                return Types.STRING;
            }
        };
    }

    @Test
    void theIdIsThePublishersOrElseTheServices() throws Exception {
        PubSubDeserializationSchema<Tuple2<String, String>> schema = split().withIdAttribute("id");
        assertThat(schema.getProducedType()).isEqualTo(Types.TUPLE(Types.STRING, Types.STRING));
        assertThat(decode(schema, Map.of("id", "x")))
                .containsExactly(Tuple2.of("x", "a"), Tuple2.of("x\u00001", "b"));
        assertThat(decode(schema, Map.of("id", ""))).first().isEqualTo(Tuple2.of("\u000012", "a"));
        assertThat(decode(schema, Map.of())).first().isEqualTo(Tuple2.of("\u000012", "a"));
    }

    @Test
    void aRecordIsWrittenWhole() throws Exception {
        OutgoingMessage message = new OutgoingMessage();
        PubSubSerializationSchema<PubSubRecord> schema =
                InstantiationUtil.clone(PubSubSerializationSchema.records());
        assertThat(
                        schema.serialize(
                                PubSubRecord.of("ab")
                                        .withAttribute("a", "1")
                                        .withOrderingKey("key"),
                                null,
                                message))
                .isTrue();
        assertThat(message.payloadLength()).isEqualTo(2);
        assertThat(message.attributeCount()).isEqualTo(1);
        assertThat(message.attributeValue(0)).isEqualTo("1");
        assertThat(message.orderingKey()).isEqualTo("key");
    }

    @Test
    void aFunctionMakesTheText() throws Exception {
        OutgoingMessage message = new OutgoingMessage();
        PubSubSerializationSchema<Integer> schema =
                InstantiationUtil.clone(
                        PubSubSerializationSchema.<Integer>strings(
                                number -> number == 0 ? null : "n" + number));
        assertThat(schema.serialize(7, null, message)).isTrue();
        assertThat(
                        new String(
                                message.payload(),
                                message.payloadOffset(),
                                message.payloadLength(),
                                StandardCharsets.UTF_8))
                .isEqualTo("n7");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> schema.serialize(0, null, message))
                .withMessageContaining("text of a record");
    }

    @Test
    void aRecordNamesItsTopic() throws Exception {
        TopicDestination topic = TopicDestination.of("p", "top");
        DestinationResolver<PubSubRecord> resolver =
                InstantiationUtil.clone(DestinationResolver.ofRecord());
        assertThat(resolver.resolve(PubSubRecord.of("a").withTopic(topic), null)).isEqualTo(topic);
        assertThatThrownBy(() -> resolver.resolve(PubSubRecord.of("a"), null))
                .hasMessageContaining("names no topic");
    }
}

package io.github.flinkpubsub;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.flink.api.common.serialization.SerializationSchema;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.util.InstantiationUtil;
import org.junit.jupiter.api.Test;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

class PubSubSerializationSchemaTest {

    private static final PubSubSerializationSchema<String> PAYLOAD =
            PubSubSerializationSchema.payload(new SimpleStringSchema());

    private final OutgoingMessage message = new OutgoingMessage();

    private boolean serialize(
            PubSubSerializationSchema<String> schema, String element, Long timestamp)
            throws Exception {
        message.clear();
        return InstantiationUtil.clone(schema)
                .serialize(
                        element,
                        new SinkWriter.Context() {
                            @Override
                            public long currentWatermark() {
                                return 0;
                            }

                            @Override
                            public Long timestamp() {
                                return timestamp;
                            }
                        },
                        message);
    }

    private Map<String, String> attributes() {
        Map<String, String> attributes = new TreeMap<>();
        for (int i = 0; i < message.attributeCount(); i++) {
            attributes.put(message.attributeName(i), message.attributeValue(i));
        }
        return attributes;
    }

    @Test
    void everyExtensionAddsItsPart() throws Exception {
        PubSubSerializationSchema<String> schema =
                PAYLOAD.withOrderingKey(text -> text.substring(0, 1))
                        .withAttributes(text -> Map.of("length", "" + text.length()))
                        .withTimestampAttribute("ts")
                        .withIdAttribute("id", text -> "id of " + text);
        assertThat(serialize(schema, "abc", -1_714_972_089_123L)).isTrue();
        assertThat(new String(message.payload(), StandardCharsets.UTF_8)).isEqualTo("abc");
        assertThat(message.orderingKey()).isEqualTo("a");
        assertThat(attributes())
                .isEqualTo(Map.of("length", "3", "ts", "-1714972089123", "id", "id of abc"));
    }

    @Test
    void nullAddsNothing() throws Exception {
        assertThat(
                        serialize(
                                PAYLOAD.withAttributes(text -> null).withOrderingKey(text -> null),
                                "abc",
                                null))
                .isTrue();
        assertThat(attributes()).isEmpty();
        assertThat(message.orderingKey()).isNull();
    }

    /** An open schema encodes strings itself when Flink's would only do the same. */
    @Test
    void stringsAreEncodedAsTheSchemaSays() throws Exception {
        String longText = "é".repeat(70_000);
        for (Charset charset : List.of(StandardCharsets.UTF_8, StandardCharsets.UTF_16BE)) {
            PubSubSerializationSchema<String> schema =
                    PubSubSerializationSchema.payload(new SimpleStringSchema(charset));
            schema.open(null);
            for (String text : List.of("Zürich 😀 \ud800", "", longText, "short")) {
                message.clear();
                assertThat(schema.serialize(text, null, message)).isTrue();
                int start = message.payloadOffset();
                assertThat(
                                Arrays.copyOfRange(
                                        message.payload(), start, start + message.payloadLength()))
                        .isEqualTo(text.getBytes(charset));
            }
            assertThatThrownBy(() -> schema.serialize(null, null, message))
                    .isInstanceOf(NullPointerException.class);
        }
    }

    @Test
    void aPayloadOfNullIsAnError() {
        SerializationSchema<String> nothing = text -> null;
        assertThatThrownBy(() -> serialize(PubSubSerializationSchema.payload(nothing), "abc", null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("made a payload of null");
    }

    @Test
    void nothingIsAddedToWhatIsSkipped() throws Exception {
        PubSubSerializationSchema<String> skipping = (element, context, message) -> false;
        assertThat(
                        serialize(
                                skipping.withTimestampAttribute("ts")
                                        .withIdAttribute("id", text -> null),
                                "abc",
                                null))
                .isFalse();
        assertThat(attributes()).isEmpty();
    }

    @Test
    void aRecordWithoutTimestampIsAnError() {
        assertThatThrownBy(() -> serialize(PAYLOAD.withTimestampAttribute("ts"), "abc", null))
                .hasMessage(
                        "withTimestampAttribute(\"ts\") needs records with timestamps, which a"
                                + " WatermarkStrategy assigns");
    }

    @Test
    void aRecordWithoutIdIsAnError() {
        for (String id : new String[] {null, ""}) {
            assertThatThrownBy(() -> serialize(PAYLOAD.withIdAttribute("id", text -> id), "a", 1L))
                    .hasMessage("withIdAttribute(\"id\") made no id of a record");
        }
    }

    @Test
    void namesThatTheServiceRefusesAreRefused() {
        PAYLOAD.withTimestampAttribute("é".repeat(128));
        PAYLOAD.withIdAttribute("é".repeat(128), text -> text);
        for (String name : new String[] {"é".repeat(128) + "x", "googid", "\ud83d"}) {
            assertThatThrownBy(() -> PAYLOAD.withTimestampAttribute(name))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith(
                            "withTimestampAttribute: '" + name + "' cannot be the name");
            assertThatThrownBy(() -> PAYLOAD.withIdAttribute(name, text -> text))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith("withIdAttribute: '" + name + "' cannot be the name");
        }
        assertThatThrownBy(() -> PAYLOAD.withTimestampAttribute(" "))
                .hasMessage("withTimestampAttribute must not be null or blank");
        assertThatThrownBy(() -> PAYLOAD.withIdAttribute("id", null))
                .hasMessage("withIdAttribute must not be null");
    }
}

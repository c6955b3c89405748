package io.github.flinkpubsub.table;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.flinkpubsub.PubSubMessage;
import io.github.flinkpubsub.SubscriptionDestination;

import org.apache.flink.table.data.MapData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.util.InstantiationUtil;
import org.junit.jupiter.api.Test;

import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.Map;

/** What columns read of a message. */
class ReadableMetadataTest {

    private final Message message = new Message();

    private Object read(ReadableMetadata metadata, int precision, String attribute)
            throws Exception {
        ReadableMetadata.Reader reader = metadata.reader(precision, attribute);
        return InstantiationUtil.clone(reader).read(message);
    }

    private Object read(ReadableMetadata metadata) throws Exception {
        return read(metadata, ReadableMetadata.MILLIS, null);
    }

    @Test
    void thePublishTimeIsCutOff() throws Exception {
        ReadableMetadata time = ReadableMetadata.PUBLISH_TIME;
        for (String fraction :
                new String[] {
                    "", ".9", ".99", ".999", ".9999", ".99999", ".999999", ".999999999"
                }) {
            int precision = fraction.isEmpty() ? 0 : fraction.length() - 1;
            assertThat(read(time, precision, null))
                    .isEqualTo(
                            TimestampData.fromInstant(
                                    Instant.parse("2033-05-18T03:33:20" + fraction + "Z")));
        }
        assertThat(time.type(9).getLogicalType().asSerializableString())
                .isEqualTo("TIMESTAMP(9) WITH LOCAL TIME ZONE NOT NULL");
    }

    @Test
    void absentIsNullButForAttributes() throws Exception {
        message.orderingKey = null;
        message.attributes = Map.of();
        assertThat(read(ReadableMetadata.ORDERING_KEY)).isNull();
        assertThat(read(ReadableMetadata.DELIVERY_ATTEMPT)).isNull();
        assertThat(((MapData) read(ReadableMetadata.ATTRIBUTES)).size()).isZero();
    }

    @Test
    void presentIsRead() throws Exception {
        message.attempt = 3;
        assertThat(read(ReadableMetadata.MESSAGE_ID)).isEqualTo(StringData.fromString("17"));
        assertThat(read(ReadableMetadata.ORDERING_KEY)).isEqualTo(StringData.fromString("k"));
        assertThat(read(ReadableMetadata.DELIVERY_ATTEMPT)).isEqualTo(3);
        assertThat(read(ReadableMetadata.SUBSCRIPTION))
                .isEqualTo(StringData.fromString("projects/p/subscriptions/sub"));
        MapData attributes = (MapData) read(ReadableMetadata.ATTRIBUTES);
        assertThat(attributes.keyArray().getString(0)).hasToString("at");
        assertThat(attributes.valueArray().getString(0)).hasToString("1970-01-01T00:00:01.5Z");
    }

    @Test
    void theEventTimeIsTheAttributesOrThePublishTime() throws Exception {
        assertThat(read(ReadableMetadata.TIMESTAMP, 3, "at"))
                .isEqualTo(TimestampData.fromEpochMillis(1_500));
        assertThat(read(ReadableMetadata.TIMESTAMP))
                .isEqualTo(TimestampData.fromInstant(Instant.parse("2033-05-18T03:33:20.999Z")));
    }

    @Test
    void theNameOfTheSubscriptionFollowsTheMessage() throws Exception {
        ReadableMetadata.Reader reader = ReadableMetadata.SUBSCRIPTION.reader(3, null);
        assertThat(reader.read(message)).hasToString("projects/p/subscriptions/sub");
        message.subscription = SubscriptionDestination.of("p", "other");
        assertThat(reader.read(message)).hasToString("projects/p/subscriptions/other");
    }

    private static final class Message implements PubSubMessage {

        private String orderingKey = "k";
        private Map<String, String> attributes = Map.of("at", "1970-01-01T00:00:01.5Z");
        private int attempt;
        private SubscriptionDestination subscription = SubscriptionDestination.of("p", "sub");

        @Override
        public ByteBuffer payload() {
            return ByteBuffer.allocate(0);
        }

        @Override
        public ByteBuffer encoded() {
            return ByteBuffer.allocate(0);
        }

        @Override
        public byte[] payloadBytes() {
            return new byte[0];
        }

        @Override
        public int payloadSize() {
            return 0;
        }

        @Override
        public Map<String, String> attributes() {
            return attributes;
        }

        @Override
        public String attribute(String name) {
            return attributes.get(name);
        }

        @Override
        public String orderingKey() {
            return orderingKey;
        }

        @Override
        public String messageId() {
            return "17";
        }

        @Override
        public Instant publishTime() {
            return Instant.parse("2033-05-18T03:33:20.999999999Z");
        }

        @Override
        public long publishTimeMillis() {
            return publishTime().toEpochMilli();
        }

        @Override
        public int deliveryAttempt() {
            return attempt;
        }

        @Override
        public SubscriptionDestination subscription() {
            return subscription;
        }
    }
}

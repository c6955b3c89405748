package io.github.flinkpubsub;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class OutgoingMessageTest {

    private final OutgoingMessage message = new OutgoingMessage();

    @Test
    void attributesKeepTheirOrderAndReplaceEachOther() {
        message.attribute("a", "1").attribute("b", "2").attribute("a", "3");
        assertThat(message.attributeCount()).isEqualTo(2);
        assertThat(message.attributeName(0)).isEqualTo("a");
        assertThat(message.attributeValue(0)).isEqualTo("3");
        assertThat(message.attributeName(1)).isEqualTo("b");
        assertThat(message.attributeValue(1)).isEqualTo("2");
    }

    @Test
    void anEmptyOrderingKeyIsNone() {
        assertThat(message.orderingKey("k").orderingKey()).isEqualTo("k");
        assertThat(message.orderingKey("").orderingKey()).isNull();
        assertThat(message.orderingKey("k").orderingKey(null).orderingKey()).isNull();
    }

    @Test
    void clearedForTheNextRecord() {
        message.payload(new byte[] {1, 2, 3}, 1, 2).attribute("a", "1").orderingKey("k");
        message.clear();
        assertThat(message.payloadLength()).isZero();
        assertThat(message.payloadOffset()).isZero();
        assertThat(message.attributeCount()).isZero();
        assertThat(message.orderingKey()).isNull();
    }

    @Test
    void nullsAreNamed() {
        assertThatThrownBy(() -> message.payload(null)).hasMessage("payload must not be null");
        assertThatThrownBy(() -> message.attribute(null, "v"))
                .hasMessage("the name of an attribute must not be null");
        assertThatThrownBy(() -> message.attribute("k", null))
                .hasMessage("the value of attribute 'k' must not be null");
    }

    @Test
    void aPartOutsideTheArrayIsRefused() {
        assertThatThrownBy(() -> message.payload(new byte[3], 2, 2))
                .hasMessage("payload has 3 bytes, which do not hold 2 from 2");
        assertThatThrownBy(() -> message.payload(new byte[3], -1, 2))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> message.payload(new byte[3], 0, Integer.MAX_VALUE))
                .isInstanceOf(IllegalArgumentException.class);
    }
}

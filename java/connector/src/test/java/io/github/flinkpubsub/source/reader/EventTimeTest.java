package io.github.flinkpubsub.source.reader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.Timestamp;
import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.nativebridge.NativeBatch;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;

class EventTimeTest {

    private static MessageView message(PubsubMessage.Builder message) {
        NativeBatch batch = new NativeBatch(0, 0);
        Batches.fill(batch, 0, 0, List.of(message.build()));
        return new MessageView(batch);
    }

    private static long time(String text) {
        return new EventTime("t").of(message(PubsubMessage.newBuilder().putAttributes("t", text)));
    }

    @Test
    void thePublishTimeByDefault() {
        PubsubMessage.Builder published =
                PubsubMessage.newBuilder()
                        .setPublishTime(Timestamp.newBuilder().setSeconds(12).setNanos(345_999_999))
                        .putAttributes("t", "99");
        assertThat(new EventTime(null).of(message(published))).isEqualTo(12_345);
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0",
        "1714972089123, 1714972089123",
        "-5, -5",
        "1970-01-01T00:00:00Z, 0",
        "1970-01-01t00:00:01.5z, 1500",
        "2024-05-06T07:08:09.123999999+02:00, 1714972089123",
        "1969-12-31T23:59:59Z, -1000"
    })
    void bothForms(String text, long millis) {
        assertThat(time(text)).isEqualTo(millis);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "yesterday",
                "1.5",
                "2024-05-06",
                "2024-05-06T07:08:09",
                "2024-13-06T07:08:09Z",
                "99999999999999999999"
            })
    void unreadable(String text) {
        assertThatThrownBy(() -> time(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(
                        "the timestamp attribute 't' is neither RFC 3339 nor milliseconds since the"
                                + " epoch: '"
                                + text
                                + "'");
    }

    @Test
    void missing() {
        assertThatThrownBy(() -> new EventTime("t").of(message(PubsubMessage.newBuilder())))
                .hasMessage("the timestamp attribute 't' is missing");
    }
}

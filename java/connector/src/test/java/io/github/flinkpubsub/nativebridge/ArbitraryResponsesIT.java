package io.github.flinkpubsub.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.protobuf.Timestamp;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.ReceivedMessage;
import com.google.pubsub.v1.StreamingPullResponse;

import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.PubSubException.Status;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/**
 * Whatever bytes a server sends as a response, Java gets offsets that lie within the batch, or an
 * exception.
 */
@Tag("library")
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class ArbitraryResponsesIT {

    private static final String SUBSCRIPTION = "projects/p/subscriptions/s";
    private static final String MARK = "the last message";
    private static final long SEED = 20_240_229;
    private static final int RANDOM_CASES = 400;
    private static final long POLL_MILLIS = 20_000;

    private int refused;
    private int read;

    @Test
    void theyAreReadOrRefused() throws Exception {
        byte[] valid = response("a", "", "ccc").toByteArray();
        try (RawServer server = new RawServer()) {
            for (byte[] bytes : cases(valid)) {
                check(server, bytes);
            }
        }
        // A third is cut or broken where it matters; the rest only says something else.
        assertThat(refused).isGreaterThan(100);
        assertThat(read).isGreaterThan(100);
    }

    private static List<byte[]> cases(byte[] valid) {
        Random random = new Random(SEED);
        List<byte[]> cases = new ArrayList<>();
        for (int length = 0; length < valid.length; length++) {
            cases.add(Arrays.copyOf(valid, length));
        }
        for (int i = 0; i < RANDOM_CASES; i++) {
            byte[] bytes;
            if (i % 4 == 0) {
                bytes = new byte[random.nextInt(200)];
                random.nextBytes(bytes);
            } else {
                bytes = valid.clone();
                for (int flips = 1 + random.nextInt(3); flips > 0; flips--) {
                    bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
                }
            }
            cases.add(bytes);
        }
        return cases;
    }

    private void check(RawServer server, byte[] bytes) throws Exception {
        server.send(bytes, response(MARK).toByteArray());
        NativeSubscriber subscriber =
                NativeSubscriber.open(
                        new NativeOptions()
                                .put("emulator-endpoint", server.endpoint())
                                .put("client-id-prefix", "arbitrary"));
        subscriber.addSplit(SUBSCRIPTION);
        NativeBatch batch = new NativeBatch(100, 1);
        try {
            boolean marked = false;
            while (!marked) {
                assertThat(subscriber.poll(batch, POLL_MILLIS)).as("case %s", hex(bytes)).isTrue();
                marked = checkBounds(batch);
            }
            read++;
        } catch (PubSubException e) {
            assertThat(e.status()).as("case %s: %s", hex(bytes), e).isEqualTo(Status.DATA_LOSS);
            refused++;
        } finally {
            subscriber.close(0);
        }
    }

    /** Whether the last message is {@link #MARK}. */
    private static boolean checkBounds(NativeBatch batch) {
        int end = batch.data().length;
        String last = "";
        for (int i = 0; i < batch.count(); i++) {
            within(end, batch.payloadOffset(i), batch.payloadLength(i));
            within(end, batch.messageIdOffset(i), batch.messageIdLength(i));
            within(end, batch.orderingKeyOffset(i), batch.orderingKeyLength(i));
            within(end, batch.messageOffset(i), batch.messageLength(i));
            last = new String(batch.data(), batch.payloadOffset(i), batch.payloadLength(i));
        }
        return last.equals(MARK);
    }

    private static void within(int end, int offset, int length) {
        assertThat(offset).isNotNegative();
        assertThat(length).isNotNegative();
        assertThat((long) offset + length).isLessThanOrEqualTo(end);
    }

    private static StreamingPullResponse response(String... payloads) {
        StreamingPullResponse.Builder response = StreamingPullResponse.newBuilder();
        for (String payload : payloads) {
            response.addReceivedMessages(
                    ReceivedMessage.newBuilder()
                            .setAckId("ack-" + payload)
                            .setDeliveryAttempt(3)
                            .setMessage(
                                    PubsubMessage.newBuilder()
                                            .setData(ByteString.copyFromUtf8(payload))
                                            .putAttributes("key", "value of " + payload)
                                            .setMessageId("id-" + payload)
                                            .setPublishTime(
                                                    Timestamp.newBuilder()
                                                            .setSeconds(1_700_000_000)
                                                            .setNanos(999_999_999))
                                            .setOrderingKey("key")));
        }
        return response.build();
    }

    private static String hex(byte[] bytes) {
        StringBuilder hex = new StringBuilder();
        for (byte b : bytes) {
            hex.append(String.format("%02x", b));
        }
        return hex.toString();
    }
}

package io.github.flinkpubsub.nativebridge;

import java.nio.charset.StandardCharsets;

/** Publishes a message and reads it, through the library that this class's loader has. */
public final class RoundTrip {

    private static final long TIMEOUT_MILLIS = 20_000;

    private RoundTrip() {}

    /** The text that came back. */
    public static String run(String endpoint, String topic, String subscription, String text)
            throws Exception {
        NativePublisher publisher = NativePublisher.open(connection(endpoint));
        NativeSubscriber subscriber =
                NativeSubscriber.open(connection(endpoint).put("client-id-prefix", "trip"));
        try {
            subscriber.addSplit(subscription);
            byte[] payload = text.getBytes(StandardCharsets.UTF_8);
            byte[] request = new byte[payload.length + 4];
            request[0] = 0x12;
            request[1] = (byte) (payload.length + 2);
            request[2] = 0x0a;
            request[3] = (byte) payload.length;
            System.arraycopy(payload, 0, request, 4, payload.length);
            int[] index = {request.length, publisher.topic(topic), 0, 0};
            publisher.append(request, request.length, index, 1, 0, new long[3]);
            publisher.flush();
            NativeBatch batch = new NativeBatch(10_000, 10);
            if (!subscriber.poll(batch, TIMEOUT_MILLIS)) {
                throw new IllegalStateException("nothing came");
            }
            subscriber.snapshot(1, new int[] {0}, new long[] {1});
            subscriber.complete(1, true);
            if (!subscriber.confirmed(TIMEOUT_MILLIS)) {
                throw new IllegalStateException("the ack was not confirmed");
            }
            return new String(
                    batch.data(),
                    batch.payloadOffset(0),
                    batch.payloadLength(0),
                    StandardCharsets.UTF_8);
        } finally {
            subscriber.close(TIMEOUT_MILLIS);
            publisher.close(TIMEOUT_MILLIS);
        }
    }

    private static NativeOptions connection(String endpoint) {
        return new NativeOptions().put("emulator-endpoint", endpoint);
    }
}

package io.github.flinkpubsub.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.google.protobuf.ByteString;
import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.PubSubException.Status;
import io.github.flinkpubsub.testing.PubSubEmulator;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** The native library behind its Java classes, against the embedded server. */
@Tag("integration")
@Timeout(value = 1, unit = TimeUnit.MINUTES)
class NativeBridgeIT {

    private static final String TOPIC = "projects/p/topics/topic";
    private static final String SUBSCRIPTION = "projects/p/subscriptions/subscription";
    private static final long POLL_MILLIS = 20_000;

    private final List<NativeSubscriber> subscribers = new ArrayList<>();
    private PubSubEmulator server;

    @BeforeEach
    void startServer() throws Exception {
        server = PubSubEmulator.start();
        server.createTopic(TOPIC);
        server.createSubscription(SUBSCRIPTION, TOPIC);
    }

    @AfterEach
    void stopServer() throws Exception {
        for (NativeSubscriber subscriber : subscribers) {
            subscriber.close(0);
        }
        server.close();
    }

    private NativeOptions connection() {
        return new NativeOptions().put("emulator-endpoint", server.endpoint());
    }

    private NativeSubscriber subscriber() throws Exception {
        NativeSubscriber subscriber =
                NativeSubscriber.open(connection().put("client-id-prefix", "test"));
        subscribers.add(subscriber);
        return subscriber;
    }

    private static String payload(NativeBatch batch, int message) {
        return new String(
                batch.data(),
                batch.payloadOffset(message),
                batch.payloadLength(message),
                StandardCharsets.UTF_8);
    }

    @Test
    void readsAndAcknowledges() throws Exception {
        server.publish(TOPIC, "a", "b", "c");
        NativeSubscriber subscriber = subscriber();
        int split = subscriber.addSplit(SUBSCRIPTION);
        NativeBatch batch = new NativeBatch(1_000, 10);
        List<String> payloads = new ArrayList<>();
        while (payloads.size() < 3) {
            assertThat(subscriber.poll(batch, POLL_MILLIS)).isTrue();
            assertThat(batch.split()).isEqualTo(split);
            assertThat(batch.first()).isEqualTo(payloads.size());
            for (int i = 0; i < batch.count(); i++) {
                payloads.add(payload(batch, i));
            }
        }
        assertThat(payloads).containsExactlyInAnyOrder("a", "b", "c");
        subscriber.snapshot(1, new int[] {split}, new long[] {2});
        subscriber.complete(1, true);
        assertThat(subscriber.confirmed(POLL_MILLIS)).isTrue();
        long[] counters = subscriber.counters();
        assertThat(counters[SubscriberCounter.MESSAGES_RECEIVED.ordinal()]).isEqualTo(3);
        assertThat(counters[SubscriberCounter.ACKS_CONFIRMED.ordinal()]).isEqualTo(2);
        assertThat(counters[SubscriberCounter.OUTSTANDING_MESSAGES.ordinal()]).isEqualTo(1);
        subscriber.close(POLL_MILLIS);

        List<PubsubMessage> left = server.receive(SUBSCRIPTION, 1, POLL_MILLIS);
        assertThat(left.get(0).getData().toStringUtf8()).isEqualTo(payloads.get(2));
        assertThat(server.pull(SUBSCRIPTION, 10)).isEmpty();
        long[] afterClose = subscriber.counters();
        assertThat(afterClose[SubscriberCounter.ACKS_CONFIRMED.ordinal()]).isEqualTo(2);
        assertThat(afterClose[SubscriberCounter.MESSAGES_NACKED.ordinal()]).isEqualTo(1);
        assertThat(afterClose[SubscriberCounter.OUTSTANDING_MESSAGES.ordinal()]).isEqualTo(0);
    }

    @Test
    void aBatchGrowsForALargeMessage() throws Exception {
        byte[] large = new byte[3_000_000];
        Arrays.fill(large, (byte) 'x');
        server.publish(
                TOPIC,
                List.of(PubsubMessage.newBuilder().setData(ByteString.copyFrom(large)).build()));
        NativeSubscriber subscriber = subscriber();
        subscriber.addSplit(SUBSCRIPTION);
        NativeBatch batch = new NativeBatch(100, 1);
        assertThat(subscriber.poll(batch, POLL_MILLIS)).isTrue();
        assertThat(batch.count()).isEqualTo(1);
        assertThat(payload(batch, 0)).isEqualTo("x".repeat(3_000_000));
        subscriber.close(POLL_MILLIS);
    }

    @Test
    void wakeUpEndsAPoll() throws Exception {
        NativeSubscriber subscriber = subscriber();
        subscriber.addSplit(SUBSCRIPTION);
        subscriber.wakeUp();
        long start = System.nanoTime();
        assertThat(subscriber.poll(new NativeBatch(100, 1), POLL_MILLIS)).isFalse();
        assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(10));
        subscriber.close(POLL_MILLIS);
    }

    @Test
    void closeEndsAPollThatWaits() throws Exception {
        for (int round = 0; round < 20; round++) {
            NativeSubscriber subscriber = subscriber();
            subscriber.addSplit(SUBSCRIPTION);
            CountDownLatch polling = new CountDownLatch(1);
            ExecutorService executor = Executors.newSingleThreadExecutor();
            Future<Throwable> poll =
                    executor.submit(
                            () -> {
                                polling.countDown();
                                return catchThrowable(
                                        () ->
                                                subscriber.poll(
                                                        new NativeBatch(100, 1), POLL_MILLIS));
                            });
            polling.await();
            subscriber.close(0);
            Throwable thrown = poll.get(10, TimeUnit.SECONDS);
            assertThat(thrown == null || thrown instanceof IllegalStateException)
                    .as("a clean end or an IllegalStateException, not %s", thrown)
                    .isTrue();
            executor.shutdown();
        }
    }

    @Test
    void useAfterCloseIsRefused() throws Exception {
        NativeSubscriber subscriber = subscriber();
        subscriber.close(0);
        subscriber.close(0);
        assertThatThrownBy(() -> subscriber.addSplit(SUBSCRIPTION))
                .isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> subscriber.poll(new NativeBatch(1, 1), 0))
                .isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(subscriber::wakeUp).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> subscriber.complete(1, true))
                .isInstanceOf(IllegalStateException.class);

        NativePublisher publisher = NativePublisher.open(connection());
        publisher.close(0);
        publisher.close(0);
        assertThatThrownBy(() -> publisher.topic(TOPIC)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(publisher::flush).isInstanceOf(IllegalStateException.class);
        assertThat(publisher.await(1_000)).isEqualTo(Publisher.CLOSED);
    }

    @Test
    void aHandleThatIsNoneIsRefused() throws Exception {
        subscriber().close(0);
        assertThatThrownBy(
                        () ->
                                SubscriberNatives.poll(
                                        987_654, new byte[1], new int[12], 0, new long[3]))
                .isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> PublisherNatives.flush(987_654))
                .isInstanceOf(IllegalStateException.class);
    }

    @Test
    void anAppendWithoutRoomForItsAnswerAcceptsNothing() throws Exception {
        NativePublisher publisher = NativePublisher.open(connection());
        byte[] message = {0x12, 0x03, 0x0a, 0x01, 'm'};
        int[] index = {message.length, publisher.topic(TOPIC), 0, 0};
        assertThatThrownBy(
                        () -> publisher.append(message, message.length, index, 1, 0, new long[2]))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("no room for what is in flight");
        assertThat(publisher.state()[PublisherCounter.IN_FLIGHT_MESSAGES.ordinal()]).isZero();
        publisher.close(0);
    }

    @Test
    void unknownOptionsAreNamed() {
        assertThatThrownBy(() -> NativeSubscriber.open(connection().put("no-such-option", 1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("no-such-option");
        assertThatThrownBy(() -> NativePublisher.open(connection().put("batch-delay-ms", "soon")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("batch-delay-ms")
                .hasMessageContaining("soon");
    }

    @Test
    void aMissingSubscriptionFailsThePoll() throws Exception {
        NativeSubscriber subscriber = subscriber();
        subscriber.addSplit("projects/p/subscriptions/nowhere");
        Throwable thrown =
                catchThrowable(
                        () -> {
                            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(40);
                            while (System.nanoTime() < deadline) {
                                subscriber.poll(new NativeBatch(100, 1), 1_000);
                            }
                        });
        assertThat(thrown).isInstanceOf(PubSubException.class);
        assertThat(((PubSubException) thrown).status()).isEqualTo(Status.NOT_FOUND);
        assertThat(((PubSubException) thrown).resource())
                .isEqualTo("projects/p/subscriptions/nowhere");
        subscriber.close(0);
    }
}

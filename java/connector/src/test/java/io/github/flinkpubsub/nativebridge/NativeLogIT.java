package io.github.flinkpubsub.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.flinkpubsub.testing.Fault;
import io.github.flinkpubsub.testing.FaultAction;
import io.github.flinkpubsub.testing.PubSubEmulator;
import io.grpc.Status;

import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.LogEvent;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.concurrent.TimeUnit;

/** What the library logs arrives in Java's log, by module and level. */
@Tag("log")
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class NativeLogIT {

    private static final String TOPIC = "projects/p/topics/topic";
    private static final String SUBSCRIPTION = "projects/p/subscriptions/subscription";
    private static final String SUBSCRIBE = "io.github.flinkpubsub.native.subscribe";

    private PubSubEmulator server;
    private CapturedLog log;

    @BeforeEach
    void startServer() throws Exception {
        server = PubSubEmulator.start();
        server.createTopic(TOPIC);
        server.createSubscription(SUBSCRIPTION, TOPIC);
        log = CapturedLog.of("io.github.flinkpubsub.native");
    }

    @AfterEach
    void stopServer() {
        log.close();
        server.close();
    }

    private NativeSubscriber subscriber() throws Exception {
        NativeSubscriber subscriber =
                NativeSubscriber.open(
                        new NativeOptions()
                                .put("emulator-endpoint", server.endpoint())
                                .put("client-id-prefix", "log"));
        subscriber.addSplit(SUBSCRIPTION);
        return subscriber;
    }

    private static long reconnects(NativeSubscriber subscriber) {
        return subscriber.counters()[SubscriberCounter.STREAM_RECONNECTS.ordinal()];
    }

    /** Has the stream broken, and waits until it is open again. */
    private void breakStream(NativeSubscriber subscriber, String payload) throws Exception {
        long before = reconnects(subscriber);
        NativeProcess.await(
                "a stream is broken",
                () ->
                        server.control()
                                        .closeStreams(
                                                SUBSCRIPTION,
                                                FaultAction.status(
                                                        Status.Code.UNAVAILABLE, "on purpose"))
                                > 0);
        server.publish(TOPIC, payload);
        assertThat(subscriber.poll(new NativeBatch(10_000, 10), 20_000)).isTrue();
        assertThat(reconnects(subscriber)).isGreaterThan(before);
    }

    @Test
    void debugIsHeardWhenItIsWantedAndThenAtOnce() throws Exception {
        NativeSubscriber subscriber = subscriber();
        breakStream(subscriber, "unheard");
        log.setLevel(Level.DEBUG);
        NativeProcess.await(
                "it is heard",
                () -> {
                    try {
                        breakStream(subscriber, "heard");
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                    return !log.events().isEmpty();
                });
        subscriber.close(5_000);
        assertThat(log.events())
                .allMatch(event -> event.getLevel().equals(Level.DEBUG))
                .anySatisfy(NativeLogIT::tellsOfTheReconnect);
        int heard = log.events().size();
        log.setLevel(Level.INFO);
        NativeSubscriber quiet = subscriber();
        breakStream(quiet, "unheard again");
        quiet.close(5_000);
        assertThat(log.events()).hasSize(heard);
    }

    private static void tellsOfTheReconnect(LogEvent event) {
        assertThat(event.getLoggerName()).isEqualTo(SUBSCRIBE);
        assertThat(event.getThreadName()).isEqualTo("pubsub-native-log");
        assertThat(event.getMessage().getFormattedMessage())
                .contains("the stream ended, will open it again")
                .contains("subscription: " + SUBSCRIPTION)
                .contains("on purpose");
    }

    @Test
    void theLastWordsAreLoggedBeforeTheCloseReturns() throws Exception {
        server.publish(TOPIC, "kept");
        NativeSubscriber subscriber = subscriber();
        assertThat(subscriber.poll(new NativeBatch(10_000, 10), 20_000)).isTrue();
        server.control().addFault(Fault.on("ModifyAckDeadline", FaultAction.silence()));
        subscriber.close(50);
        assertThat(log.texts("WARN"))
                .hasSize(1)
                .allMatch(text -> text.contains("with acks or nacks unanswered"));
        assertThat(log.texts("ERROR")).isEmpty();
    }

    @Test
    void aTopicThatIsCreatedIsToldOf() throws Exception {
        NativePublisher publisher =
                NativePublisher.open(
                        new NativeOptions()
                                .put("emulator-endpoint", server.endpoint())
                                .put("create-topics", true));
        String topic = "projects/p/topics/new";
        byte[] message = {0x12, 0x03, 0x0a, 0x01, 'm'};
        int[] index = {message.length, publisher.topic(topic), 0, 0};
        publisher.append(message, message.length, index, 1, 0, new long[3]);
        publisher.flush();
        publisher.target(0, 0, 0);
        assertThat(publisher.await(20_000)).isEqualTo(Publisher.TARGET_REACHED);
        publisher.close(5_000);
        assertThat(log.texts("INFO")).containsExactly("created " + topic);
        assertThat(log.events().get(0).getLoggerName())
                .isEqualTo("io.github.flinkpubsub.native.publish");
    }

    @Test
    void modulesAreNamedByTheirTargets() {
        assertThat(NativeLog.module("pubsub_client::subscribe::stream")).isEqualTo("subscribe");
        assertThat(NativeLog.module("pubsub_client")).isEqualTo("pubsub_client");
        assertThat(NativeLog.module("pubsub_flink::logs")).isEqualTo("library");
        assertThat(NativeLog.module("h2::codec")).isEqualTo("h2");
    }
}

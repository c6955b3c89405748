package io.github.flinkpubsub.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.github.flinkpubsub.NativePanicException;
import io.github.flinkpubsub.testing.PubSubEmulator;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.lang.reflect.Field;
import java.util.concurrent.TimeUnit;

/** A panic in the library is a Java exception that names it; everything else goes on. */
@Tag("library")
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class NativePanicIT {

    private static final String TOPIC = "projects/p/topics/topic";
    private static final String SUBSCRIPTION = "projects/p/subscriptions/subscription";

    private static final int IN_CALL = 0;
    private static final int IN_SUBSCRIBER_TASK = 1;
    private static final int IN_PUBLISHER_TASK = 2;
    private static final int IN_CLOSE = 3;
    private static final int IN_SHUTDOWN = 4;

    private PubSubEmulator server;
    private CapturedLog log;

    @BeforeEach
    void startServer() throws Exception {
        server = PubSubEmulator.start();
        server.createTopic(TOPIC);
        server.createSubscription(SUBSCRIPTION, TOPIC);
        System.setProperty(NativeLibrary.DEBUG_PROPERTY, "true");
        log = CapturedLog.of("io.github.flinkpubsub.native");
    }

    @AfterEach
    void stopServer() throws Exception {
        System.clearProperty(NativeLibrary.DEBUG_PROPERTY);
        log.close();
        assertThat(RoundTrip.run(server.endpoint(), TOPIC, SUBSCRIPTION, "and all goes on"))
                .isEqualTo("and all goes on");
        server.close();
    }

    private NativeOptions connection() {
        return new NativeOptions().put("emulator-endpoint", server.endpoint());
    }

    private NativeSubscriber subscriber() throws Exception {
        return NativeSubscriber.open(connection().put("client-id-prefix", "panic"));
    }

    private static long handle(Object client) throws Exception {
        Field handle = client.getClass().getDeclaredField("handle");
        handle.setAccessible(true);
        return (long) handle.get(client);
    }

    private static void assertPanic(Throwable thrown, String where) {
        assertThat(thrown)
                .isInstanceOf(NativePanicException.class)
                .hasMessageContaining("panic in the native library")
                .hasMessageContaining("on purpose, in " + where);
    }

    @Test
    void inACall() throws Exception {
        try (NativeAdmin admin = NativeAdmin.open(connection())) {
            assertPanic(catchThrowable(() -> LibraryNatives.panic(IN_CALL, 0)), "a call");
            assertThat(admin.describeTopic(TOPIC)).isEmpty();
        }
        assertThat(log.texts("ERROR"))
                .hasSize(1)
                .allMatch(text -> text.contains("on purpose, in a call"));
    }

    @Test
    void inATaskOfASubscriber() throws Exception {
        NativeSubscriber broken = subscriber();
        NativeSubscriber other = subscriber();
        broken.addSplit(SUBSCRIPTION);
        LibraryNatives.panic(IN_SUBSCRIBER_TASK, handle(broken));
        assertPanic(
                catchThrowable(() -> broken.poll(new NativeBatch(1_000, 10), 20_000)),
                "a subscriber's task");
        assertThat(other.poll(new NativeBatch(1_000, 10), 0)).isFalse();
        broken.close(1_000);
        other.close(1_000);
    }

    @Test
    void inTheTaskOfAPublisher() throws Exception {
        NativePublisher broken = NativePublisher.open(connection());
        LibraryNatives.panic(IN_PUBLISHER_TASK, handle(broken));
        assertThat(broken.await(20_000) & Publisher.FAILURE).isNotZero();
        assertPanic(catchThrowable(broken::flush), "a publisher's task");
        broken.close(1_000);
    }

    @Test
    void inAClose() throws Exception {
        NativeSubscriber broken = subscriber();
        broken.addSplit(SUBSCRIPTION);
        LibraryNatives.panic(IN_CLOSE, 0);
        assertPanic(catchThrowable(() -> broken.close(1_000)), "a close");
        broken.close(1_000);
    }

    @Test
    void whileTheLibraryShutsDown() throws Exception {
        NativeAdmin admin = NativeAdmin.open(connection());
        LibraryNatives.panic(IN_SHUTDOWN, 0);
        admin.close();
        assertThat(log.texts("ERROR"))
                .hasSize(1)
                .allMatch(text -> text.contains("on purpose, in the shutdown"));
    }

    @Test
    void notWithoutTheSetting() throws Exception {
        System.clearProperty(NativeLibrary.DEBUG_PROPERTY);
        try (NativeAdmin admin = NativeAdmin.open(connection())) {
            assertThatThrownBy(() -> LibraryNatives.panic(IN_CALL, 0))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("pubsub.native.debug");
            assertThat(admin.describeTopic(TOPIC)).isEmpty();
        }
    }
}

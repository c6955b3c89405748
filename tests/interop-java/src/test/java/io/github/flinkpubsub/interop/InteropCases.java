package io.github.flinkpubsub.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.cloud.pubsub.v1.Subscriber;

import org.apache.flink.core.execution.JobClient;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/** What must hold on every server: nothing lost, nothing altered, order kept within a key. */
@Tag("integration")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
abstract class InteropCases {
    private static final int MESSAGES = 20_000;
    private static final String IN_TOPIC = "projects/interop/topics/inbound";
    private static final String IN = "projects/interop/subscriptions/inbound-sub";
    private static final String OUT_TOPIC = "projects/interop/topics/outbound";
    private static final String OUT = "projects/interop/subscriptions/outbound-sub";

    @TempDir private Path savepoints;

    private PubSubServer server;
    private GoogleClient google;

    abstract PubSubServer start() throws Exception;

    @BeforeEach
    void startServer() throws Exception {
        server = start();
        google = new GoogleClient(server.endpoint());
        google.createTopic(IN_TOPIC);
        google.createSubscription(IN, IN_TOPIC, server.keepsOrder());
        google.createTopic(OUT_TOPIC);
        google.createSubscription(OUT, OUT_TOPIC, server.keepsOrder());
    }

    @AfterEach
    void stopServer() {
        google.close();
        server.close();
    }

    @Test
    void sourceReadsWhatGooglesClientPublishes() throws Exception {
        google.publish(IN_TOPIC, events(0, MESSAGES));

        Received received = new Received();
        try (Collected collected = new Collected(received::add)) {
            JobClient job = Jobs.read(server, IN, collected);
            received.assertHasAll(MESSAGES, server.keepsOrder());
            Jobs.stopWithSavepoint(job, savepoints);
        }
        assertEquals(
                0,
                google.pull(IN),
                "messages left after a savepoint, which acks all that was read");
    }

    @Test
    void googlesClientReadsWhatTheSinkPublishes() throws Exception {
        Jobs.write(server, OUT_TOPIC, MESSAGES);

        Received received = new Received();
        Subscriber subscriber = google.subscribe(OUT, server.streams(), received::add);
        try {
            received.assertHasAll(MESSAGES, server.keepsOrder());
        } finally {
            subscriber.stopAsync();
        }
    }

    @Test
    void nothingIsLostWhenATaskFailsBetweenTwoCheckpoints() throws Exception {
        Received received = new Received();
        Subscriber subscriber = google.subscribe(OUT, server.streams(), received::add);
        try (FailOnce failure = new FailOnce(MESSAGES / 4)) {
            JobClient job = Jobs.copy(server, IN, OUT_TOPIC, failure);
            google.publish(IN_TOPIC, events(0, MESSAGES / 2));
            received.awaitSize(MESSAGES / 2);
            failure.awaitCheckpoint();
            google.publish(IN_TOPIC, events(MESSAGES / 2, MESSAGES));

            received.assertHasAll(MESSAGES, false);
            assertTrue(failure.happened());
            job.cancel().get(1, TimeUnit.MINUTES);
        } finally {
            subscriber.stopAsync();
        }
    }

    private static Iterable<Event> events(int from, int to) {
        return () -> IntStream.range(from, to).mapToObj(Event::numbered).iterator();
    }
}

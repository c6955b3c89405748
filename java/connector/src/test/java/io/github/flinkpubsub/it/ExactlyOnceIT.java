package io.github.flinkpubsub.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.pubsub.v1.Subscription;

import io.github.flinkpubsub.source.PubSubSubscriberOptions;
import io.github.flinkpubsub.testing.EmulatorControl;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Jobs on a subscription with exactly-once delivery, and checkpoints that wait for its answers. */
@Tag("integration")
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class ExactlyOnceIT extends JobTest {

    private static final String TOPIC = "projects/p/topics/input";
    private static final String SUB = "projects/p/subscriptions/input-sub";

    @BeforeEach
    void createSubscription() {
        server.createTopic(TOPIC);
        server.createSubscription(
                Subscription.newBuilder()
                        .setName(SUB)
                        .setTopic(TOPIC)
                        .setEnableExactlyOnceDelivery(true)
                        .build());
        control.record(true);
    }

    private void read(boolean awaitAckConfirmation) throws Exception {
        StreamExecutionEnvironment env = environment(1);
        AckedAt.control = control;
        AckedAt.acked.set(-1);
        env.fromSource(
                        texts(SUB)
                                .subscriberOptions(
                                        PubSubSubscriberOptions.builder()
                                                .awaitAckConfirmation(awaitAckConfirmation)
                                                .build())
                                .build(),
                        WatermarkStrategy.noWatermarks(),
                        "in")
                .map(new AckedAt("later"))
                .sinkTo(new CollectingSink());
        job = env.executeAsync();
    }

    private void awaitAcks() {
        await("acks", () -> !control.requests("Acknowledge").isEmpty());
    }

    /** The acks of ten messages are on their way when their leases end. */
    private void losesItsLeases() throws Exception {
        control.freezeAcks(SUB);
        publish(TOPIC, numbered(0, 10));
        CollectingSink.await(10, TIMEOUT_MILLIS);
        awaitAcks();
        assertThat(control.redeliver(SUB)).isEqualTo(10);
        control.releaseAcks();
    }

    @Test
    void aCompletedCheckpointWaitsForTheAnswer() throws Exception {
        read(true);
        control.freezeAcks(SUB);
        publish(TOPIC, numbered(0, 10));
        CollectingSink.await(10, TIMEOUT_MILLIS);
        awaitAcks();
        publish(TOPIC, List.of("later"));
        await("delivery", () -> control.subscription(SUB).delivered() == 11);
        control.releaseAcks();
        CollectingSink.await(11, TIMEOUT_MILLIS);
        // Nothing was read on before the service had answered.
        assertThat(AckedAt.acked).hasValueGreaterThanOrEqualTo(1);
        awaitUnacked(SUB, 0);
        stop();
        List<String> expected = new ArrayList<>(numbered(0, 10));
        expected.add("later");
        assertThat(sorted(records())).isEqualTo(sorted(expected));
        assertThat(control.subscription(SUB).acked()).isEqualTo(11);
    }

    @Test
    void anAckThatIsRefusedFailsTheJob() throws Exception {
        read(true);
        losesItsLeases();
        assertThat(failure()).contains("FAILED_PRECONDITION from Acknowledge on " + SUB);
    }

    @Test
    void withoutTheWaitTheJobGoesOnAndTheMessageIsAckedWhenItComesAgain() throws Exception {
        read(false);
        losesItsLeases();
        awaitUnacked(SUB, 0);
        stop();
        assertThat(records()).containsAll(numbered(0, 10));
        assertThat(control.subscription(SUB).acked()).isEqualTo(10);
    }

    /** Notes how many messages were acked when a record passed. */
    private static final class AckedAt implements MapFunction<String, String> {

        static final AtomicLong acked = new AtomicLong();

        static volatile EmulatorControl control;

        private static final long serialVersionUID = 1L;

        private final String record;

        AckedAt(String record) {
            this.record = record;
        }

        @Override
        public String map(String text) {
            if (text.equals(record)) {
                acked.set(control.subscription(SUB).acked());
            }
            return text;
        }
    }
}

package io.github.flinkpubsub.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.PullRequest;
import com.google.pubsub.v1.ReceivedMessage;
import com.google.pubsub.v1.StreamingPullRequest;
import com.google.pubsub.v1.StreamingPullResponse;
import com.google.pubsub.v1.SubscriberGrpc;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

@Tag("integration")
@ExtendWith(PubSubEmulatorExtension.class)
class EmulatorControlIT {
    private static final String TOPIC = "projects/p/topics/orders";
    private static final String SUBSCRIPTION = "projects/p/subscriptions/orders-sub";

    private final PubSubEmulator emulator;
    private final EmulatorControl control;

    EmulatorControlIT(PubSubEmulator emulator, EmulatorControl control) {
        this.emulator = emulator;
        this.control = control;
    }

    @BeforeEach
    void create() {
        control.reset();
        control.resumeClock();
        emulator.createTopic(TOPIC);
        emulator.createSubscription(SUBSCRIPTION, TOPIC);
    }

    private ReceivedMessage pullOne() {
        return emulator.subscriber()
                .pull(
                        PullRequest.newBuilder()
                                .setSubscription(SUBSCRIPTION)
                                .setMaxMessages(1)
                                .build())
                .getReceivedMessages(0);
    }

    private List<String> states() {
        return control.messages(SUBSCRIPTION).stream()
                .map(MessageState::state)
                .collect(Collectors.toList());
    }

    @Test
    void aFaultHitsTheCallsItNames() {
        String id =
                control.addFault(
                        Fault.on("Publish", FaultAction.status(Status.Code.ABORTED, "no luck"))
                                .resource(TOPIC)
                                .whenDataContains("poison")
                                .skip(1)
                                .times(1));
        emulator.publish(TOPIC, "poison 1");
        assertThatThrownBy(() -> emulator.publish(TOPIC, "poison 2"))
                .isInstanceOf(StatusRuntimeException.class)
                .hasMessage("ABORTED: no luck");
        emulator.publish(TOPIC, "poison 3");
        emulator.publish(TOPIC, "harmless");

        FaultState fault = control.faults().get(0);
        assertThat(fault.id()).isEqualTo(id);
        assertThat(fault.matched()).isEqualTo(3);
        assertThat(fault.hits()).isEqualTo(1);
        assertThat(control.subscription(SUBSCRIPTION).backlog()).isEqualTo(3);

        control.removeFault(id);
        assertThat(control.faults()).isEmpty();
    }

    @Test
    void actionsOfEveryKindAreUnderstood() {
        List<FaultAction> actions =
                List.of(
                        FaultAction.status(Status.Code.CANCELLED, ""),
                        FaultAction.silence(),
                        FaultAction.delay(Duration.ofMillis(1)),
                        FaultAction.hold(),
                        FaultAction.goAway(Duration.ofMillis(1)),
                        FaultAction.goAwayAndGoOn(),
                        FaultAction.rstStream(2),
                        FaultAction.drop(),
                        FaultAction.reset(),
                        FaultAction.failAckIds("PERMANENT_FAILURE_INVALID_ACK_ID", 1),
                        FaultAction.duplicate(),
                        FaultAction.reverse(),
                        FaultAction.rotate());
        for (FaultAction action : actions) {
            String method =
                    action.json().get("type").getAsString().equals("fail_ack_ids")
                            ? "Acknowledge"
                            : "StreamingPull";
            control.addFault(Fault.on(method, action));
        }
        assertThat(control.faults()).hasSameSizeAs(actions);
        control.removeFaults();
        assertThat(control.faults()).isEmpty();
    }

    @Test
    void theClockEndsLeases() {
        control.stopClock();
        Instant start = control.now();
        emulator.publish(TOPIC, "a");
        ReceivedMessage first = pullOne();
        assertThat(states()).containsExactly(MessageState.OUTSTANDING);
        assertThat(control.messages(SUBSCRIPTION).get(0).ackId()).hasValue(first.getAckId());

        assertThat(control.advance(Duration.ofSeconds(61))).isEqualTo(start.plusSeconds(61));
        assertThat(control.now()).isEqualTo(start.plusSeconds(61));
        assertThat(states()).containsExactly(MessageState.WAITING);
        assertThat(control.subscription(SUBSCRIPTION).expired()).isEqualTo(1);
        assertThat(pullOne().getAckId()).isNotEqualTo(first.getAckId());
        assertThat(control.redeliver(SUBSCRIPTION)).isEqualTo(1);
        assertThat(control.subscription(SUBSCRIPTION).outstanding()).isZero();
    }

    @Test
    void requestsAndMessagesCanBeReadBack() {
        control.record(true);
        control.setAckIdBytes(300);
        List<String> ids =
                emulator.publish(
                        TOPIC,
                        List.of(
                                PubsubMessage.newBuilder()
                                        .setData(ByteString.copyFromUtf8("hello"))
                                        .putAttributes("a", "é")
                                        .setOrderingKey("k")
                                        .build()));
        assertThat(emulator.receive(SUBSCRIPTION, 1, 10_000)).hasSize(1);

        RecordedRequest publish = control.requests("Publish").get(0);
        assertThat(publish.resource()).isEqualTo(TOPIC);
        assertThat(publish.status()).hasValue("OK");
        assertThat(publish.headers()).containsEntry("content-type", "application/grpc");
        RecordedRequest.Message message = publish.messages().get(0);
        assertThat(message.data()).isEqualTo("hello");
        assertThat(message.attributes()).containsEntry("a", "é");
        assertThat(message.orderingKey()).isEqualTo("k");

        RecordedRequest ack = control.requests("Acknowledge").get(0);
        assertThat(ack.ackIds()).hasSize(1);
        assertThat(ack.ackIds().get(0)).hasSize(300);
        assertThat(ack.number()).isGreaterThan(publish.number());
        assertThat(control.requests())
                .extracting(RecordedRequest::method)
                .containsExactly("Publish", "Pull", "Acknowledge");
        assertThat(control.calls()).containsEntry("Acknowledge", 1L);

        MessageState state = control.messages(SUBSCRIPTION, MessageState.ACKED).get(0);
        assertThat(state.messageId()).isEqualTo(ids.get(0));
        assertThat(state.deliveryAttempt()).isEqualTo(1);
        assertThat(control.subscription(SUBSCRIPTION).acked()).isEqualTo(1);

        control.forgetRequests();
        assertThat(control.requests()).isEmpty();
        control.record(false);
    }

    @Test
    void frozenAcksWaitAndGoOn() throws Exception {
        emulator.publish(TOPIC, "a");
        control.freezeAcks(SUBSCRIPTION);
        Thread acks = new Thread(() -> emulator.receive(SUBSCRIPTION, 1, 10_000));
        acks.start();
        long deadline = System.nanoTime() + Duration.ofSeconds(10).toNanos();
        while (control.calls().getOrDefault("Acknowledge", 0L) == 0) {
            assertThat(System.nanoTime()).isLessThan(deadline);
        }
        assertThat(control.subscription(SUBSCRIPTION).acked()).isZero();
        control.releaseAcks();
        acks.join(10_000);
        assertThat(control.subscription(SUBSCRIPTION).acked()).isEqualTo(1);
    }

    @Test
    void streamsAreShapedAndClosed() throws Exception {
        BlockingQueue<Object> came = new LinkedBlockingQueue<>();
        StreamObserver<StreamingPullRequest> stream =
                SubscriberGrpc.newStub(emulator.subscriber().getChannel())
                        .streamingPull(
                                new StreamObserver<StreamingPullResponse>() {
                                    @Override
                                    public void onNext(StreamingPullResponse response) {
                                        if (response.getReceivedMessagesCount() > 0) {
                                            came.add(response.getReceivedMessagesCount());
                                        }
                                    }

                                    @Override
                                    public void onError(Throwable error) {
                                        came.add(Status.fromThrowable(error).getCode());
                                    }

                                    @Override
                                    public void onCompleted() {
                                        came.add(Status.Code.OK);
                                    }
                                });
        control.setResponseSize(2, 1_000_000);
        emulator.publish(TOPIC, "a", "b", "c", "d", "e");
        stream.onNext(
                StreamingPullRequest.newBuilder()
                        .setSubscription(SUBSCRIPTION)
                        .setStreamAckDeadlineSeconds(60)
                        .build());
        assertThat(came.poll(10, TimeUnit.SECONDS)).isEqualTo(2);
        assertThat(came.poll(10, TimeUnit.SECONDS)).isEqualTo(2);
        assertThat(came.poll(10, TimeUnit.SECONDS)).isEqualTo(1);
        assertThat(control.subscription(SUBSCRIPTION).streams()).isEqualTo(1);
        assertThat(control.subscription(SUBSCRIPTION).delivered()).isEqualTo(5);

        FaultAction abort = FaultAction.status(Status.Code.ABORTED, "enough");
        assertThat(control.closeStreams(SUBSCRIPTION, abort)).isEqualTo(1);
        assertThat(came.poll(10, TimeUnit.SECONDS)).isEqualTo(Status.Code.ABORTED);
        assertThat(control.closeStreams(SUBSCRIPTION, abort)).isZero();
        control.setResponseSize(1_000, 524_288);
    }

    @Test
    void connectionsAreClosed() {
        assertThat(control.closeConnections("goaway")).isEqualTo(1);
        assertThatThrownBy(() -> control.closeConnections("gently"))
                .isInstanceOf(EmulatorException.class)
                .hasMessageContaining("gently");
        assertThat(emulator.publish(TOPIC, "over a new one")).hasSize(1);
    }

    @Test
    void resetLeavesNothing() {
        control.addFault(Fault.on("*", FaultAction.drop()).skip(1000));
        control.reset();
        assertThat(control.faults()).isEmpty();
        assertThatThrownBy(() -> control.subscription(SUBSCRIPTION))
                .isInstanceOf(EmulatorException.class)
                .hasMessageContaining(SUBSCRIPTION);
    }

    @Test
    void aMistakeInAFaultIsNamed() {
        assertThatThrownBy(() -> control.addFault(Fault.on("Publsh", FaultAction.drop())))
                .isInstanceOf(EmulatorException.class)
                .hasMessageContaining("Publsh");
    }
}

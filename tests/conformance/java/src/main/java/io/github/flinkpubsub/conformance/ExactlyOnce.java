package io.github.flinkpubsub.conformance;

import static io.github.flinkpubsub.conformance.Conformance.check;
import static io.github.flinkpubsub.conformance.Server.message;

import com.google.api.gax.rpc.FailedPreconditionException;
import com.google.cloud.pubsub.v1.AckReplyConsumerWithResponse;
import com.google.cloud.pubsub.v1.AckResponse;
import com.google.cloud.pubsub.v1.MessageReceiverWithAckResponse;
import com.google.cloud.pubsub.v1.Subscriber;
import com.google.pubsub.v1.ReceivedMessage;

import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Subscriptions with exactly-once delivery. */
final class ExactlyOnce {
    private final Server server;

    ExactlyOnce(Server server) {
        this.server = server;
    }

    void run() {
        check("exactly-once/stale-ack", id -> ackAfterRedelivery(id, true));
        check("exactly-once/current-ack", id -> ackAfterRedelivery(id, false));
        check("exactly-once/subscriber", this::confirmed);
    }

    private String ackAfterRedelivery(String id, boolean stale) {
        String name = server.subscribe(id, s -> s.setEnableExactlyOnceDelivery(true));
        server.publish(id, message(1));
        ReceivedMessage first = server.await(name);
        server.lease(name, 0, List.of(first));
        ReceivedMessage acked = stale ? first : server.await(name);
        if (stale) {
            server.await(name);
        }
        try {
            server.ack(name, List.of(acked));
        } catch (FailedPreconditionException e) {
            return e.getErrorDetails()
                    .getErrorInfo()
                    .getMetadataOrDefault(acked.getAckId(), "not named");
        }
        return "OK";
    }

    private String confirmed(String id) throws Exception {
        String name = server.subscribe(id, s -> s.setEnableExactlyOnceDelivery(true));
        server.publish(id, message(1));
        CompletableFuture<AckReplyConsumerWithResponse> arrived = new CompletableFuture<>();
        MessageReceiverWithAckResponse receiver = (message, reply) -> arrived.complete(reply);
        Subscriber subscriber = server.connected(Subscriber.newBuilder(name, receiver)).build();
        subscriber.startAsync().awaitRunning();
        try {
            long patience = Server.PATIENCE.toSeconds();
            Future<AckResponse> response = arrived.get(patience, TimeUnit.SECONDS).ack();
            return response.get(patience, TimeUnit.SECONDS)
                    .name()
                    .toLowerCase(Locale.ROOT)
                    .replace("successful", "success");
        } finally {
            subscriber.stopAsync().awaitTerminated(Server.PATIENCE.toSeconds(), TimeUnit.SECONDS);
        }
    }
}

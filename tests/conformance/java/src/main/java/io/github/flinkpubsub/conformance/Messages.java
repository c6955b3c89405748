package io.github.flinkpubsub.conformance;

import static io.github.flinkpubsub.conformance.Conformance.accepts;
import static io.github.flinkpubsub.conformance.Conformance.check;
import static io.github.flinkpubsub.conformance.Server.message;
import static io.github.flinkpubsub.conformance.Server.topic;

import com.google.protobuf.Duration;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.ReceivedMessage;
import com.google.pubsub.v1.RetryPolicy;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Publishing, pulling, streaming, leases, nacks and flow control. */
final class Messages {
    private final Server server;

    Messages(Server server) {
        this.server = server;
    }

    void run() {
        check("publish/round-trip", this::roundTrip);
        accepts("publish/empty", id -> publishOne(id, PubsubMessage.getDefaultInstance()));
        accepts("publish/reserved-attribute", id -> publishOne(id, message(1, "googly", "v")));
        accepts("publish/missing-topic", id -> server.publish(id, message(1)));
        check("pull/leased", id -> pulledAfter(id, false));
        check("pull/acked", id -> pulledAfter(id, true));
        check("pull/attempt", id -> one(server.subscribe(id), id).getDeliveryAttempt());
        accepts("pull/max-messages", id -> server.pull(server.subscribe(id), 0));
        check("lease/expired", id -> again(id, 1));
        check("nack/again", id -> again(id, 0));
        check("nack/backoff", this::backoff);
        check("streaming/all", this::streamAll);
        check("streaming/nack", this::streamNack);
        check("flow/outstanding", this::outstanding);
    }

    /** Publishes a message and pulls it. */
    private ReceivedMessage one(String subscription, String id) {
        server.publish(id, message(1));
        return server.await(subscription);
    }

    private void publishOne(String id, PubsubMessage message) {
        server.createTopic(topic(id));
        server.publish(id, message);
    }

    private String roundTrip(String id) {
        String name = server.subscribe(id);
        server.publish(id, message("é😀", "a", "v").toBuilder().setOrderingKey("k").build());
        PubsubMessage got = server.await(name).getMessage();
        return got.getData().toStringUtf8()
                + " / "
                + got.getAttributesOrDefault("a", "")
                + " / "
                + got.getOrderingKey();
    }

    private int pulledAfter(String id, boolean ack) throws Exception {
        String name = server.subscribe(id);
        ReceivedMessage received = one(name, id);
        if (ack) {
            server.ack(name, List.of(received));
            server.advance(61);
        }
        return server.pull(name).size();
    }

    private String again(String id, int leaseSeconds) throws Exception {
        String name = server.subscribe(id);
        ReceivedMessage first = one(name, id);
        server.lease(name, leaseSeconds, List.of(first));
        if (leaseSeconds > 0) {
            server.advance(leaseSeconds + 1);
        }
        boolean same = server.await(name).getAckId().equals(first.getAckId());
        return "again, " + (same ? "same" : "new") + " ack id";
    }

    private String backoff(String id) throws Exception {
        RetryPolicy policy =
                RetryPolicy.newBuilder()
                        .setMinimumBackoff(Duration.newBuilder().setSeconds(10))
                        .setMaximumBackoff(Duration.newBuilder().setSeconds(20))
                        .build();
        String name = server.subscribe(id, s -> s.setRetryPolicy(policy));
        server.lease(name, 0, List.of(one(name, id)));
        if (!server.pull(name).isEmpty()) {
            return "at once";
        }
        server.advance(21);
        server.await(name);
        return "held back, then again";
    }

    private String streamAll(String id) throws Exception {
        String name = server.subscribe(id);
        server.publishNumbers(id, 50);
        Set<String> received = new HashSet<>();
        Receiving.receive(
                server,
                name,
                1000,
                m -> {
                    received.add(m.text());
                    m.reply.ack();
                    return received.size() == 50;
                });
        server.advance(700);
        return received.size() + " received, " + server.pull(name).size() + " left";
    }

    private String streamNack(String id) throws Exception {
        String name = server.subscribe(id);
        server.publish(id, message(1));
        List<String> deliveries = new ArrayList<>();
        Receiving.receive(
                server,
                name,
                1000,
                m -> {
                    deliveries.add(m.text());
                    if (deliveries.size() == 1) {
                        m.reply.nack();
                    } else {
                        m.reply.ack();
                    }
                    return deliveries.size() == 2;
                });
        return deliveries.size() + " deliveries";
    }

    private String outstanding(String id) throws Exception {
        String name = server.subscribe(id);
        server.publishNumbers(id, 20);
        List<Receiving> held = new ArrayList<>();
        Set<String> received = new HashSet<>();
        int[] left = {-1};
        Receiving.receive(
                server,
                name,
                5,
                m -> {
                    received.add(m.text());
                    held.add(m);
                    if (left[0] < 0 && held.size() < 5) {
                        return false;
                    }
                    if (left[0] < 0) {
                        List<ReceivedMessage> rest = server.pull(name);
                        left[0] = rest.size();
                        if (!rest.isEmpty()) {
                            server.lease(name, 0, rest);
                        }
                    }
                    held.forEach(h -> h.reply.ack());
                    held.clear();
                    return received.size() == 20;
                });
        return left[0] + " left, " + received.size() + " in all";
    }
}

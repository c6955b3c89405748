package io.github.flinkpubsub.conformance;

import static io.github.flinkpubsub.conformance.Conformance.accepts;
import static io.github.flinkpubsub.conformance.Conformance.check;
import static io.github.flinkpubsub.conformance.Server.message;
import static io.github.flinkpubsub.conformance.Server.topic;

import com.google.pubsub.v1.DeadLetterPolicy;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.ReceivedMessage;

import java.util.ArrayList;
import java.util.List;

/** Messages that are delivered too often. */
final class DeadLetters {
    private final Server server;

    DeadLetters(Server server) {
        this.server = server;
    }

    void run() {
        accepts("dead-letter/attempts-4", id -> create(id, 4));
        check("dead-letter/attempts", id -> String.join(" ", useUp(id)));
        check(
                "dead-letter/forwarded",
                id -> {
                    useUp(id);
                    return forwarded(id).getData().toStringUtf8();
                });
        check(
                "dead-letter/attributes",
                id -> {
                    useUp(id);
                    PubsubMessage message = forwarded(id);
                    return attribute(message, "DeliveryCount")
                            + " "
                            + attribute(message, "Subscription");
                });
    }

    private String create(String id, int attempts) {
        server.subscribe(id + "-dead");
        DeadLetterPolicy policy =
                DeadLetterPolicy.newBuilder()
                        .setDeadLetterTopic(topic(id + "-dead"))
                        .setMaxDeliveryAttempts(attempts)
                        .build();
        return server.subscribe(id, s -> s.setDeadLetterPolicy(policy));
    }

    /** Nacks a message until it is used up; answers the attempts. */
    private List<String> useUp(String id) {
        String name = create(id, 5);
        server.publish(id, message("payload"));
        List<String> attempts = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            ReceivedMessage received = server.await(name);
            attempts.add(String.valueOf(received.getDeliveryAttempt()));
            server.lease(name, 0, List.of(received));
        }
        server.pull(name); // Some servers forward when they would deliver.
        return attempts;
    }

    private PubsubMessage forwarded(String id) {
        return server.await(Server.PROJECT + "/subscriptions/" + id + "-dead").getMessage();
    }

    private static String attribute(PubsubMessage message, String name) {
        return message.getAttributesOrDefault("CloudPubSubDeadLetterSource" + name, "none");
    }
}

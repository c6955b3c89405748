package io.github.flinkpubsub.conformance;

import static io.github.flinkpubsub.conformance.Conformance.accepts;
import static io.github.flinkpubsub.conformance.Conformance.check;
import static io.github.flinkpubsub.conformance.Server.call;
import static io.github.flinkpubsub.conformance.Server.message;

import com.google.api.gax.rpc.InvalidArgumentException;
import com.google.protobuf.FieldMask;
import com.google.pubsub.v1.Subscription;
import com.google.pubsub.v1.UpdateSubscriptionRequest;

/** Subscriptions with a filter. */
final class Filters {
    private final Server server;

    Filters(Server server) {
        this.server = server;
    }

    void run() {
        check("filter/matching", this::matching);
        accepts("filter/syntax", id -> filtered(id, "attributes.kind = "));
        accepts(
                "filter/length",
                id -> filtered(id, "attributes.kind = \"" + "x".repeat(237) + "\""));
        check("filter/fixed", this::fixed);
    }

    private String filtered(String id, String filter) {
        return server.subscribe(id, s -> s.setFilter(filter));
    }

    private String matching(String id) {
        String name =
                filtered(id, "attributes.kind = \"a\" AND NOT hasPrefix(attributes.name, \"x\")");
        server.publish(
                id,
                message(1, "kind", "a", "name", "y"),
                message(2, "kind", "a", "name", "x1"),
                message(3, "kind", "b"));
        return server.drain(name);
    }

    private String fixed(String id) {
        String name = filtered(id, "attributes.kind = \"a\"");
        Subscription changed =
                Subscription.newBuilder()
                        .setName(name)
                        .setFilter("attributes.kind = \"b\"")
                        .build();
        try {
            call(
                    server.subscriptions.updateSubscriptionCallable(),
                    UpdateSubscriptionRequest.newBuilder()
                            .setSubscription(changed)
                            .setUpdateMask(FieldMask.newBuilder().addPaths("filter"))
                            .build());
        } catch (InvalidArgumentException e) {
            return "refused";
        }
        return "changed";
    }
}

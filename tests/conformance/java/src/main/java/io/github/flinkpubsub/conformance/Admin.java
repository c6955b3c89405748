package io.github.flinkpubsub.conformance;

import static io.github.flinkpubsub.conformance.Conformance.accepts;
import static io.github.flinkpubsub.conformance.Conformance.check;
import static io.github.flinkpubsub.conformance.Server.call;
import static io.github.flinkpubsub.conformance.Server.topic;

import com.google.protobuf.FieldMask;
import com.google.pubsub.v1.DeleteTopicRequest;
import com.google.pubsub.v1.DetachSubscriptionRequest;
import com.google.pubsub.v1.GetSubscriptionRequest;
import com.google.pubsub.v1.GetTopicRequest;
import com.google.pubsub.v1.ListTopicsRequest;
import com.google.pubsub.v1.ListTopicsResponse;
import com.google.pubsub.v1.Subscription;
import com.google.pubsub.v1.UpdateSubscriptionRequest;

import java.util.ArrayList;
import java.util.List;

/** Topics and subscriptions. */
final class Admin {
    private final Server server;

    Admin(Server server) {
        this.server = server;
    }

    void run() {
        accepts(
                "admin/create-twice",
                id -> {
                    server.createTopic(topic(id));
                    server.createTopic(topic(id));
                });
        accepts(
                "admin/get-missing",
                id ->
                        call(
                                server.topics.getTopicCallable(),
                                GetTopicRequest.newBuilder().setTopic(topic(id)).build()));
        accepts("admin/reserved-name", id -> server.createTopic(topic("goog-" + id)));
        accepts("admin/ack-deadline", id -> server.subscribe(id, s -> s.setAckDeadlineSeconds(9)));
        check("admin/list", this::list);
        check("admin/update", id -> update(id, "ack_deadline_seconds"));
        accepts("admin/update-mask", id -> update(id, "no_such_field"));
        check("admin/topic-deleted", this::topicDeleted);
        check("admin/detached", this::detached);
    }

    private String list(String id) {
        for (int i = 0; i < 3; i++) {
            server.createTopic("projects/" + id + "/topics/topic-" + i);
        }
        List<String> all = new ArrayList<>();
        String page = "";
        do {
            ListTopicsResponse response =
                    call(
                            server.topics.listTopicsCallable(),
                            ListTopicsRequest.newBuilder()
                                    .setProject("projects/" + id)
                                    .setPageSize(2)
                                    .setPageToken(page)
                                    .build());
            response.getTopicsList()
                    .forEach(t -> all.add(t.getName().substring(t.getName().lastIndexOf('/') + 1)));
            page = response.getNextPageToken();
        } while (!page.isEmpty());
        all.sort(null);
        return String.join(" ", all);
    }

    private Subscription get(String name) {
        return call(
                server.subscriptions.getSubscriptionCallable(),
                GetSubscriptionRequest.newBuilder().setSubscription(name).build());
    }

    private String update(String id, String path) {
        String name = server.subscribe(id, s -> s.putLabels("team", "shop"));
        call(
                server.subscriptions.updateSubscriptionCallable(),
                UpdateSubscriptionRequest.newBuilder()
                        .setSubscription(
                                Subscription.newBuilder().setName(name).setAckDeadlineSeconds(30))
                        .setUpdateMask(FieldMask.newBuilder().addPaths(path))
                        .build());
        Subscription got = get(name);
        return got.getAckDeadlineSeconds() + " " + got.getLabelsOrDefault("team", "");
    }

    private String topicDeleted(String id) {
        String name = server.subscribe(id);
        call(
                server.topics.deleteTopicCallable(),
                DeleteTopicRequest.newBuilder().setTopic(topic(id)).build());
        return get(name).getTopic();
    }

    private String detached(String id) {
        String name = server.subscribe(id);
        call(
                server.topics.detachSubscriptionCallable(),
                DetachSubscriptionRequest.newBuilder().setSubscription(name).build());
        return server.pull(name).size() + " pulled";
    }
}

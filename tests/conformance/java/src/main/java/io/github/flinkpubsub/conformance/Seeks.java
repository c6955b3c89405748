package io.github.flinkpubsub.conformance;

import static io.github.flinkpubsub.conformance.Conformance.check;
import static io.github.flinkpubsub.conformance.Ordering.ordered;
import static io.github.flinkpubsub.conformance.Server.call;
import static io.github.flinkpubsub.conformance.Server.message;

import com.google.protobuf.Timestamp;
import com.google.pubsub.v1.CreateSnapshotRequest;
import com.google.pubsub.v1.ReceivedMessage;
import com.google.pubsub.v1.SeekRequest;
import com.google.pubsub.v1.Subscription;

import java.time.Instant;
import java.util.List;
import java.util.function.Consumer;

/** Seeks to times and snapshots. The backward ones come last: they end pstest. */
final class Seeks {
    private final Server server;

    Seeks(Server server) {
        this.server = server;
    }

    void run() {
        check("seek/future", this::future);
        check("seek/snapshot", this::snapshot);
        check("seek/not-retained", id -> backOne(id, s -> {}));
        check("seek/retained", id -> backOne(id, s -> s.setRetainAckedMessages(true)));
        check(
                "seek/ordered",
                id -> {
                    String name = ordered(server, id, 1, 3, s -> s.setRetainAckedMessages(true));
                    back(name);
                    return server.drain(name);
                });
    }

    private void seek(SeekRequest.Builder request) {
        call(server.subscriptions.seekCallable(), request.build());
    }

    private int future(String id) {
        String name = server.subscribe(id);
        server.publish(id, message(1), message(2));
        long tomorrow = Instant.now().getEpochSecond() + 24 * 60 * 60;
        seek(
                SeekRequest.newBuilder()
                        .setSubscription(name)
                        .setTime(Timestamp.newBuilder().setSeconds(tomorrow)));
        return server.pull(name).size();
    }

    private int snapshot(String id) {
        String name = server.subscribe(id);
        server.publish(id, message(1));
        String snapshot = Server.PROJECT + "/snapshots/" + id;
        call(
                server.subscriptions.createSnapshotCallable(),
                CreateSnapshotRequest.newBuilder().setName(snapshot).setSubscription(name).build());
        server.ack(name, List.of(server.await(name)));
        seek(SeekRequest.newBuilder().setSubscription(name).setSnapshot(snapshot));
        return server.pull(name).size();
    }

    /** Pulls and acks all, then seeks to before it. */
    private void back(String name) {
        Timestamp published = null;
        while (true) {
            List<ReceivedMessage> received = server.pull(name);
            if (received.isEmpty()) {
                break;
            }
            if (published == null) {
                published = received.get(0).getMessage().getPublishTime();
            }
            server.ack(name, received);
        }
        Timestamp before = published.toBuilder().setSeconds(published.getSeconds() - 1).build();
        seek(SeekRequest.newBuilder().setSubscription(name).setTime(before));
    }

    private int backOne(String id, Consumer<Subscription.Builder> settings) {
        String name = server.subscribe(id, settings);
        server.publish(id, message(1));
        back(name);
        return server.pull(name).size();
    }
}

package io.github.flinkpubsub.conformance;

import static io.github.flinkpubsub.conformance.Conformance.check;
import static io.github.flinkpubsub.conformance.Server.keyed;
import static io.github.flinkpubsub.conformance.Server.texts;

import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.ReceivedMessage;
import com.google.pubsub.v1.Subscription;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Messages with ordering keys. */
final class Ordering {
    private final Server server;

    Ordering(Server server) {
        this.server = server;
    }

    void run() {
        check("ordering/streaming", this::streaming);
        check("ordering/batch", id -> texts(server.pull(ordered(server, id, 1, 3, s -> {}))));
        check("ordering/one-batch", id -> server.pull(oneOut(id)).size());
        check("ordering/other-keys", this::otherKeys);
        check("ordering/replay", this::replay);
    }

    /** An ordered subscription with numbers of one key. */
    static String ordered(
            Server server, String id, int from, int to, Consumer<Subscription.Builder> settings) {
        String name = server.subscribe(id, settings.andThen(s -> s.setEnableMessageOrdering(true)));
        server.publish(
                id,
                IntStream.rangeClosed(from, to)
                        .mapToObj(i -> keyed(i, "k"))
                        .toArray(PubsubMessage[]::new));
        return name;
    }

    private String streaming(String id) throws Exception {
        String name = ordered(server, id, 0, 19, s -> {});
        List<String> received = new ArrayList<>();
        Receiving.receive(
                server,
                name,
                1000,
                m -> {
                    received.add(m.text());
                    m.reply.ack();
                    return received.size() == 20;
                });
        String expected =
                IntStream.range(0, 20).mapToObj(String::valueOf).collect(Collectors.joining(" "));
        String got = String.join(" ", received);
        return got.equals(expected) ? "in order" : got;
    }

    private String oneOut(String id) {
        String name = ordered(server, id, 1, 3, s -> {});
        server.pull(name, 1);
        return name;
    }

    private long otherKeys(String id) {
        String name = oneOut(id);
        server.publish(id, keyed("other", "another key"));
        return server.pull(name).stream()
                .filter(r -> r.getMessage().getOrderingKey().equals("another key"))
                .count();
    }

    private String replay(String id) {
        String name = ordered(server, id, 1, 3, s -> {});
        List<ReceivedMessage> received = server.pull(name);
        if (received.size() > 1) {
            server.ack(name, received.subList(1, received.size()));
        }
        server.lease(name, 0, received.subList(0, 1));
        return server.drain(name);
    }
}

package io.github.flinkpubsub.conformance;

import com.google.api.gax.batching.FlowControlSettings;
import com.google.cloud.pubsub.v1.AckReplyConsumer;
import com.google.cloud.pubsub.v1.MessageReceiver;
import com.google.cloud.pubsub.v1.Subscriber;
import com.google.pubsub.v1.PubsubMessage;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A delivery to a subscriber, and the running of one. */
final class Receiving {
    final PubsubMessage message;
    final AckReplyConsumer reply;

    private Receiving(PubsubMessage message, AckReplyConsumer reply) {
        this.message = message;
        this.reply = reply;
    }

    String text() {
        return message.getData().toStringUtf8();
    }

    /** Answers true when it has seen enough. */
    interface Handler {
        boolean handle(Receiving received) throws Exception;
    }

    /** Runs a subscriber until the handler has seen enough. */
    static void receive(Server server, String subscription, long limit, Handler handler)
            throws Exception {
        BlockingQueue<Receiving> arrived = new LinkedBlockingQueue<>();
        MessageReceiver receiver = (message, reply) -> arrived.add(new Receiving(message, reply));
        Subscriber subscriber =
                server.connected(Subscriber.newBuilder(subscription, receiver))
                        .setFlowControlSettings(
                                FlowControlSettings.newBuilder()
                                        .setMaxOutstandingElementCount(limit)
                                        .build())
                        .build();
        subscriber.startAsync().awaitRunning();
        try {
            Receiving next;
            do {
                next = arrived.poll(Server.PATIENCE.toSeconds(), TimeUnit.SECONDS);
                if (next == null) {
                    throw new TimeoutException();
                }
            } while (!handler.handle(next));
        } finally {
            // It waits for an answer to every message.
            Receiving rest;
            while ((rest = arrived.poll()) != null) {
                rest.reply.nack();
            }
            subscriber.stopAsync().awaitTerminated(Server.PATIENCE.toSeconds(), TimeUnit.SECONDS);
        }
    }
}

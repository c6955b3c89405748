package io.github.flinkpubsub.interop;

import com.google.api.core.ApiFuture;
import com.google.api.core.ApiFutures;
import com.google.api.gax.core.CredentialsProvider;
import com.google.api.gax.core.NoCredentialsProvider;
import com.google.api.gax.grpc.GrpcTransportChannel;
import com.google.api.gax.rpc.FixedTransportChannelProvider;
import com.google.api.gax.rpc.TransportChannelProvider;
import com.google.cloud.pubsub.v1.MessageReceiver;
import com.google.cloud.pubsub.v1.Publisher;
import com.google.cloud.pubsub.v1.Subscriber;
import com.google.cloud.pubsub.v1.SubscriptionAdminClient;
import com.google.cloud.pubsub.v1.SubscriptionAdminSettings;
import com.google.cloud.pubsub.v1.TopicAdminClient;
import com.google.cloud.pubsub.v1.TopicAdminSettings;
import com.google.cloud.pubsub.v1.stub.GrpcSubscriberStub;
import com.google.cloud.pubsub.v1.stub.SubscriberStub;
import com.google.cloud.pubsub.v1.stub.SubscriberStubSettings;
import com.google.protobuf.ByteString;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.PullRequest;
import com.google.pubsub.v1.Subscription;

import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Google's Java client, as its documentation shows it, connected to a server in plaintext. */
final class GoogleClient implements AutoCloseable {
    private static final CredentialsProvider NO_CREDENTIALS = NoCredentialsProvider.create();

    private final ManagedChannel channel;
    private final TransportChannelProvider provider;

    GoogleClient(String endpoint) {
        channel = ManagedChannelBuilder.forTarget(endpoint).usePlaintext().build();
        provider = FixedTransportChannelProvider.create(GrpcTransportChannel.create(channel));
    }

    void createTopic(String topic) throws IOException {
        TopicAdminSettings settings =
                TopicAdminSettings.newBuilder()
                        .setTransportChannelProvider(provider)
                        .setCredentialsProvider(NO_CREDENTIALS)
                        .build();
        try (TopicAdminClient client = TopicAdminClient.create(settings)) {
            client.createTopic(topic);
        }
    }

    void createSubscription(String subscription, String topic, boolean ordered) throws IOException {
        SubscriptionAdminSettings settings =
                SubscriptionAdminSettings.newBuilder()
                        .setTransportChannelProvider(provider)
                        .setCredentialsProvider(NO_CREDENTIALS)
                        .build();
        try (SubscriptionAdminClient client = SubscriptionAdminClient.create(settings)) {
            client.createSubscription(
                    Subscription.newBuilder()
                            .setName(subscription)
                            .setTopic(topic)
                            .setAckDeadlineSeconds(60)
                            .setEnableMessageOrdering(ordered)
                            .build());
        }
    }

    /** Publishes with ordering and waits until the server has confirmed all. */
    void publish(String topic, Iterable<Event> events) throws Exception {
        Publisher publisher =
                Publisher.newBuilder(topic)
                        .setChannelProvider(provider)
                        .setCredentialsProvider(NO_CREDENTIALS)
                        .setEnableMessageOrdering(true)
                        .build();
        List<ApiFuture<String>> confirmations = new ArrayList<>();
        for (Event event : events) {
            confirmations.add(
                    publisher.publish(
                            PubsubMessage.newBuilder()
                                    .setData(ByteString.copyFrom(event.data))
                                    .putAllAttributes(event.attributes)
                                    .setOrderingKey(event.orderingKey)
                                    .build()));
        }
        ApiFutures.allAsList(confirmations).get(2, TimeUnit.MINUTES);
        publisher.shutdown();
        if (!publisher.awaitTermination(1, TimeUnit.MINUTES)) {
            throw new IllegalStateException("Google's publisher did not stop within a minute");
        }
    }

    /** How many of up to 1,000 messages a pull gets that does not wait for more. */
    @SuppressWarnings(
            "deprecation") // The flag is deprecated for busy polling; a single look is what it is
    // for.
    int pull(String subscription) throws IOException {
        SubscriberStubSettings settings =
                SubscriberStubSettings.newBuilder()
                        .setTransportChannelProvider(provider)
                        .setCredentialsProvider(NO_CREDENTIALS)
                        .build();
        try (SubscriberStub stub = GrpcSubscriberStub.create(settings)) {
            return stub.pullCallable()
                    .call(
                            PullRequest.newBuilder()
                                    .setSubscription(subscription)
                                    .setMaxMessages(1_000)
                                    .setReturnImmediately(true)
                                    .build())
                    .getReceivedMessagesCount();
        }
    }

    /** Starts a subscriber that hands over each message and acks it. */
    Subscriber subscribe(String subscription, int streams, Consumer<Event> consumer) {
        MessageReceiver receiver =
                (message, reply) -> {
                    consumer.accept(
                            new Event(
                                    message.getData().toByteArray(),
                                    message.getAttributesMap(),
                                    message.getOrderingKey()));
                    reply.ack();
                };
        Subscriber subscriber =
                Subscriber.newBuilder(subscription, receiver)
                        .setParallelPullCount(streams)
                        .setChannelProvider(provider)
                        .setCredentialsProvider(NO_CREDENTIALS)
                        .build();
        subscriber.startAsync().awaitRunning();
        return subscriber;
    }

    @Override
    public void close() {
        channel.shutdownNow();
    }
}

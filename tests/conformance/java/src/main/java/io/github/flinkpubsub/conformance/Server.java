package io.github.flinkpubsub.conformance;

import com.google.api.gax.core.NoCredentialsProvider;
import com.google.api.gax.grpc.GrpcCallContext;
import com.google.api.gax.grpc.GrpcTransportChannel;
import com.google.api.gax.rpc.ApiException;
import com.google.api.gax.rpc.FixedTransportChannelProvider;
import com.google.api.gax.rpc.StatusCode;
import com.google.api.gax.rpc.TransportChannelProvider;
import com.google.api.gax.rpc.UnaryCallable;
import com.google.cloud.pubsub.v1.Subscriber;
import com.google.cloud.pubsub.v1.stub.GrpcPublisherStub;
import com.google.cloud.pubsub.v1.stub.GrpcSubscriberStub;
import com.google.cloud.pubsub.v1.stub.PublisherStub;
import com.google.cloud.pubsub.v1.stub.PublisherStubSettings;
import com.google.cloud.pubsub.v1.stub.SubscriberStub;
import com.google.cloud.pubsub.v1.stub.SubscriberStubSettings;
import com.google.protobuf.ByteString;
import com.google.pubsub.v1.AcknowledgeRequest;
import com.google.pubsub.v1.ModifyAckDeadlineRequest;
import com.google.pubsub.v1.PublishRequest;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.PullRequest;
import com.google.pubsub.v1.ReceivedMessage;
import com.google.pubsub.v1.Subscription;
import com.google.pubsub.v1.Topic;

import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** The server under test, through Google's client. */
final class Server implements AutoCloseable {
    static final String PROJECT = "projects/conformance";
    static final Duration PATIENCE = Duration.ofSeconds(20);

    private static final Duration CALL = Duration.ofSeconds(5);

    final TransportChannelProvider provider;
    final PublisherStub topics;
    final SubscriberStub subscriptions;

    private final ManagedChannel channel;
    private final HttpClient http = HttpClient.newHttpClient();
    private final String control;

    Server(String endpoint, String control) throws Exception {
        this.control = control;
        channel = ManagedChannelBuilder.forTarget(endpoint).usePlaintext().build();
        provider = FixedTransportChannelProvider.create(GrpcTransportChannel.create(channel));
        topics =
                GrpcPublisherStub.create(
                        PublisherStubSettings.newBuilder()
                                .setTransportChannelProvider(provider)
                                .setCredentialsProvider(NoCredentialsProvider.create())
                                .build());
        subscriptions =
                GrpcSubscriberStub.create(
                        SubscriberStubSettings.newBuilder()
                                .setTransportChannelProvider(provider)
                                .setCredentialsProvider(NoCredentialsProvider.create())
                                .build());
    }

    /** A call without the client's retries. */
    static <Q, A> A call(UnaryCallable<Q, A> callable, Q request) {
        return callable.call(
                request,
                GrpcCallContext.createDefault()
                        .withTimeoutDuration(CALL)
                        .withRetryableCodes(Set.of()));
    }

    /** Moves the server's time on, where there is a control port. */
    void advance(int seconds) throws Exception {
        if (control.isEmpty()) {
            return;
        }
        HttpRequest request =
                HttpRequest.newBuilder(URI.create("http://" + control + "/clock/advance"))
                        .timeout(CALL)
                        .header("content-type", "application/json")
                        .POST(HttpRequest.BodyPublishers.ofString("{\"seconds\":" + seconds + "}"))
                        .build();
        HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
        if (response.statusCode() != 200) {
            throw new IllegalStateException(response.body());
        }
    }

    static String topic(String id) {
        return PROJECT + "/topics/" + id;
    }

    void createTopic(String name) {
        call(topics.createTopicCallable(), Topic.newBuilder().setName(name).build());
    }

    /** A topic with a subscription, both of that id. */
    String subscribe(String id) {
        return subscribe(id, settings -> {});
    }

    String subscribe(String id, Consumer<Subscription.Builder> settings) {
        createTopic(topic(id));
        Subscription.Builder request =
                Subscription.newBuilder()
                        .setName(PROJECT + "/subscriptions/" + id)
                        .setTopic(topic(id))
                        .setAckDeadlineSeconds(60);
        settings.accept(request);
        return call(subscriptions.createSubscriptionCallable(), request.build()).getName();
    }

    /** A message; attributes come in pairs. */
    static PubsubMessage message(Object data, String... attributes) {
        PubsubMessage.Builder message =
                PubsubMessage.newBuilder().setData(ByteString.copyFromUtf8(data.toString()));
        for (int i = 0; i < attributes.length; i += 2) {
            message.putAttributes(attributes[i], attributes[i + 1]);
        }
        return message.build();
    }

    static PubsubMessage keyed(Object data, String key) {
        return message(data).toBuilder().setOrderingKey(key).build();
    }

    void publish(String id, PubsubMessage... messages) {
        call(
                topics.publishCallable(),
                PublishRequest.newBuilder()
                        .setTopic(topic(id))
                        .addAllMessages(Arrays.asList(messages))
                        .build());
    }

    void publishNumbers(String id, int count) {
        publish(
                id,
                IntStream.range(0, count).mapToObj(i -> message(i)).toArray(PubsubMessage[]::new));
    }

    List<ReceivedMessage> pull(String subscription) {
        return pull(subscription, 100);
    }

    /** A single look, which the deprecated flag is for. */
    @SuppressWarnings("deprecation")
    List<ReceivedMessage> pull(String subscription, int max) {
        return call(
                        subscriptions.pullCallable(),
                        PullRequest.newBuilder()
                                .setSubscription(subscription)
                                .setMaxMessages(max)
                                .setReturnImmediately(true)
                                .build())
                .getReceivedMessagesList();
    }

    /** The first message that comes. */
    ReceivedMessage await(String subscription) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        PullRequest request =
                PullRequest.newBuilder().setSubscription(subscription).setMaxMessages(1).build();
        while (System.nanoTime() < deadline) {
            try {
                List<ReceivedMessage> received =
                        call(subscriptions.pullCallable(), request).getReceivedMessagesList();
                if (!received.isEmpty()) {
                    return received.get(0);
                }
            } catch (ApiException e) {
                if (e.getStatusCode().getCode() != StatusCode.Code.DEADLINE_EXCEEDED) {
                    throw e;
                }
            }
        }
        throw new IllegalStateException("no message came");
    }

    void ack(String subscription, List<ReceivedMessage> received) {
        call(
                subscriptions.acknowledgeCallable(),
                AcknowledgeRequest.newBuilder()
                        .setSubscription(subscription)
                        .addAllAckIds(ids(received))
                        .build());
    }

    void lease(String subscription, int seconds, List<ReceivedMessage> received) {
        call(
                subscriptions.modifyAckDeadlineCallable(),
                ModifyAckDeadlineRequest.newBuilder()
                        .setSubscription(subscription)
                        .setAckDeadlineSeconds(seconds)
                        .addAllAckIds(ids(received))
                        .build());
    }

    private static List<String> ids(List<ReceivedMessage> received) {
        return received.stream().map(ReceivedMessage::getAckId).collect(Collectors.toList());
    }

    static String texts(List<ReceivedMessage> received) {
        return received.stream()
                .map(r -> r.getMessage().getData().toStringUtf8())
                .collect(Collectors.joining(" "));
    }

    /** What can be pulled and acked until nothing is left. */
    String drain(String subscription) {
        List<ReceivedMessage> all = new ArrayList<>();
        while (true) {
            List<ReceivedMessage> received = pull(subscription);
            if (received.isEmpty()) {
                return texts(all);
            }
            ack(subscription, received);
            all.addAll(received);
        }
    }

    /** A builder needs more than what every subscriber here has: its receiver. */
    Subscriber.Builder connected(Subscriber.Builder builder) {
        return builder.setParallelPullCount(1)
                .setChannelProvider(provider)
                .setCredentialsProvider(NoCredentialsProvider.create());
    }

    @Override
    public void close() {
        channel.shutdownNow();
    }
}

package io.github.flinkpubsub.testing;

import com.google.protobuf.ByteString;
import com.google.pubsub.v1.AcknowledgeRequest;
import com.google.pubsub.v1.PublishRequest;
import com.google.pubsub.v1.PublisherGrpc;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.PullRequest;
import com.google.pubsub.v1.ReceivedMessage;
import com.google.pubsub.v1.SubscriberGrpc;
import com.google.pubsub.v1.Subscription;
import com.google.pubsub.v1.Topic;

import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.grpc.stub.MetadataUtils;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The embedded Pub/Sub server, as a process of its own on a free port of 127.0.0.1. It ends with
 * {@link #close()}, and at the latest with the JVM. Methods may be called by any thread.
 *
 * <p>The binary {@code pubsub-emulator} is the one that the system property {@code pubsub.emulator}
 * names, or else the one in the jar, or else the one on the {@code PATH}. The jar's is unpacked
 * into a directory that only this user can read, and deleted when the JVM exits. Resources are
 * named by their paths, such as {@code projects/p/topics/t}. A call that the server refuses throws
 * {@link StatusRuntimeException}.
 */
public final class PubSubEmulator implements AutoCloseable {

    /** System property: the server's binary. */
    public static final String BINARY_PROPERTY = "pubsub.emulator";

    /** System property: where the jar's binary is unpacked instead of {@code java.io.tmpdir}. */
    public static final String DIR_PROPERTY = "pubsub.emulator.dir";

    private static final Pattern READY = Pattern.compile("listening on (\\S+) control (\\S+)");
    private static final Metadata.Key<String> AUTHORIZATION =
            Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
    private static final int ACK_DEADLINE_SECONDS = 60;
    private static final int LARGEST_MESSAGE_BYTES = 64 << 20;
    private static final int PULLED_AT_ONCE = 1_000;

    private final Process process;
    private final String endpoint;
    private final ManagedChannel channel;
    private final PublisherGrpc.PublisherBlockingStub publisher;
    private final SubscriberGrpc.SubscriberBlockingStub subscriber;
    private final EmulatorControl control;

    private PubSubEmulator(Process process, Matcher ready, List<String> arguments)
            throws IOException {
        this.process = process;
        endpoint = ready.group(1);
        control = new EmulatorControl(ready.group(2));
        NettyChannelBuilder builder =
                NettyChannelBuilder.forTarget(endpoint)
                        .maxInboundMessageSize(LARGEST_MESSAGE_BYTES);
        if (arguments.contains("--tls-cert")) {
            // Whoever listens there was started just now; the certificate is for other clients.
            builder.sslContext(
                    GrpcSslContexts.forClient()
                            .trustManager(InsecureTrustManagerFactory.INSTANCE)
                            .build());
        } else {
            builder.usePlaintext();
        }
        int token = arguments.indexOf("--require-token") + 1;
        if (token > 0) {
            Metadata headers = new Metadata();
            String value = token < arguments.size() ? arguments.get(token) : "-";
            // Without a value, any token will do.
            headers.put(AUTHORIZATION, "Bearer " + (value.startsWith("-") ? "any" : value));
            builder.intercept(MetadataUtils.newAttachHeadersInterceptor(headers));
        }
        channel = builder.build();
        publisher = PublisherGrpc.newBlockingStub(channel);
        subscriber = SubscriberGrpc.newBlockingStub(channel);
    }

    /**
     * Starts a server and waits until it listens.
     *
     * @param arguments more arguments of the command line; this object's own calls follow {@code
     *     --tls-cert} and {@code --require-token}
     * @throws IOException when the binary cannot be started or ends at once
     */
    public static PubSubEmulator start(String... arguments) throws IOException {
        String binary = EmulatorBinary.find();
        // A mode such as "bench" has options of its own, which stand behind it.
        int mode = arguments.length > 0 && !arguments[0].startsWith("-") ? 1 : 0;
        List<String> command =
                Stream.of(
                                Stream.of(binary),
                                Stream.of(arguments).limit(mode),
                                Stream.of("--port", "0", "--exit-on-stdin-close"),
                                Stream.of(arguments).skip(mode))
                        .flatMap(part -> part)
                        .collect(Collectors.toList());
        Process process;
        try {
            process =
                    new ProcessBuilder(command)
                            .redirectError(ProcessBuilder.Redirect.INHERIT)
                            .start();
        } catch (IOException e) {
            throw new IOException(
                    "cannot start "
                            + binary
                            + "; -D"
                            + BINARY_PROPERTY
                            + "=<file> names the server's binary",
                    e);
        }
        try {
            return new PubSubEmulator(
                    process, awaitReady(process, binary), Arrays.asList(arguments));
        } catch (IOException | RuntimeException e) {
            process.destroyForcibly();
            throw e;
        }
    }

    private static Matcher awaitReady(Process process, String binary) throws IOException {
        BufferedReader out =
                new BufferedReader(
                        new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        String line;
        while ((line = out.readLine()) != null) {
            Matcher ready = READY.matcher(line);
            if (ready.find()) {
                return ready;
            }
        }
        throw new IOException(binary + " ended before it listened");
    }

    /** {@code host:port}, the value of {@code emulatorEndpoint}; over TLS, of {@code endpoint}. */
    public String endpoint() {
        return endpoint;
    }

    /** Makes things go wrong, moves the time and shows what is inside. */
    public EmulatorControl control() {
        return control;
    }

    /** Creates a topic. */
    public void createTopic(String topic) {
        publisher.createTopic(Topic.newBuilder().setName(topic).build());
    }

    /** Creates an unordered subscription with an ack deadline of 60 s. */
    public void createSubscription(String subscription, String topic) {
        createSubscription(subscription(subscription, topic).build());
    }

    /** Creates a subscription with message ordering and an ack deadline of 60 s. */
    public void createOrderedSubscription(String subscription, String topic) {
        createSubscription(
                subscription(subscription, topic).setEnableMessageOrdering(true).build());
    }

    /** Creates a subscription with settings of one's own. */
    public void createSubscription(Subscription subscription) {
        subscriber.createSubscription(subscription);
    }

    /** Publishes texts without attributes; answers the message ids. */
    public List<String> publish(String topic, String... payloads) {
        List<PubsubMessage> messages = new ArrayList<>();
        for (String payload : payloads) {
            messages.add(
                    PubsubMessage.newBuilder().setData(ByteString.copyFromUtf8(payload)).build());
        }
        return publish(topic, messages);
    }

    /** Publishes messages in one request; answers their ids. */
    public List<String> publish(String topic, Collection<PubsubMessage> messages) {
        return publisher
                .publish(
                        PublishRequest.newBuilder()
                                .setTopic(topic)
                                .addAllMessages(messages)
                                .build())
                .getMessageIdsList();
    }

    /**
     * Pulls and acknowledges messages until there are so many.
     *
     * @throws IllegalStateException when they do not come within the time
     */
    public List<PubsubMessage> receive(String subscription, int count, long timeoutMillis) {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
        List<PubsubMessage> messages = new ArrayList<>();
        while (messages.size() < count) {
            long left = deadline - System.nanoTime();
            if (left <= 0) {
                throw new IllegalStateException(
                        messages.size()
                                + " of "
                                + count
                                + " messages came within "
                                + timeoutMillis
                                + " ms");
            }
            int wanted = Math.min(count - messages.size(), PULLED_AT_ONCE);
            messages.addAll(pull(subscription, wanted, left));
        }
        return messages;
    }

    /** Pulls and acknowledges what is there now; possibly nothing. */
    public List<PubsubMessage> pull(String subscription, int max) {
        return pull(subscription, max, 0);
    }

    /**
     * The server answers as soon as there is a message; with {@code waitNanos} 0 it does not wait
     * for one.
     */
    @SuppressWarnings(
            "deprecation") // Without returnImmediately, "nothing" takes the server's long wait.
    private List<PubsubMessage> pull(String subscription, int max, long waitNanos) {
        PullRequest request =
                PullRequest.newBuilder()
                        .setSubscription(subscription)
                        .setMaxMessages(max)
                        .setReturnImmediately(waitNanos == 0)
                        .build();
        List<ReceivedMessage> received;
        try {
            SubscriberGrpc.SubscriberBlockingStub stub =
                    waitNanos == 0
                            ? subscriber
                            : subscriber.withDeadlineAfter(waitNanos, TimeUnit.NANOSECONDS);
            received = stub.pull(request).getReceivedMessagesList();
        } catch (StatusRuntimeException e) {
            if (e.getStatus().getCode() == Status.Code.DEADLINE_EXCEEDED) {
                return new ArrayList<>();
            }
            throw e;
        }
        if (!received.isEmpty()) {
            AcknowledgeRequest.Builder acks =
                    AcknowledgeRequest.newBuilder().setSubscription(subscription);
            received.forEach(message -> acks.addAckIds(message.getAckId()));
            subscriber.acknowledge(acks.build());
        }
        return received.stream().map(ReceivedMessage::getMessage).collect(Collectors.toList());
    }

    /** Calls that have no method here. */
    public PublisherGrpc.PublisherBlockingStub publisher() {
        return publisher;
    }

    /** Calls that have no method here. */
    public SubscriberGrpc.SubscriberBlockingStub subscriber() {
        return subscriber;
    }

    /** Ends the server and waits for its end. */
    @Override
    public void close() {
        channel.shutdownNow();
        try {
            process.getOutputStream().close();
            if (!process.waitFor(5, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (IOException e) {
            process.destroyForcibly();
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }

    private static Subscription.Builder subscription(String subscription, String topic) {
        return Subscription.newBuilder()
                .setName(subscription)
                .setTopic(topic)
                .setAckDeadlineSeconds(ACK_DEADLINE_SECONDS);
    }
}

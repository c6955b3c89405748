package io.github.flinkpubsub.bench;

import com.google.api.gax.batching.FlowControlSettings;
import com.google.api.gax.core.NoCredentialsProvider;
import com.google.cloud.pubsub.v1.AckReplyConsumer;
import com.google.cloud.pubsub.v1.MessageReceiver;
import com.google.cloud.pubsub.v1.Subscriber;
import com.google.pubsub.v1.PubsubMessage;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;

/** Google's subscriber: the payload becomes a String, the ack goes out at once. */
final class GoogleSubscriber implements Contender {
    /**
     * Its default of 1,000 messages holds it at 10,000 a second, as it collects acks for 100 ms.
     */
    private static final FlowControlSettings FLOW_CONTROL =
            FlowControlSettings.newBuilder()
                    .setMaxOutstandingElementCount(20_000L)
                    .setMaxOutstandingRequestBytes(100L << 20)
                    .build();

    /** What is made of a payload ends here, so that the compiler cannot leave the work out. */
    private volatile String last;

    @Override
    public void run(Run run, Meter meter) throws Exception {
        AtomicLong count = new AtomicLong();
        MessageReceiver receiver =
                (PubsubMessage message, AckReplyConsumer reply) -> {
                    long n = count.incrementAndGet();
                    String payload = message.getData().toStringUtf8();
                    if (n % 1024 == 0) {
                        last = payload;
                    }
                    reply.ack();
                    meter.passed(n);
                };
        try (GoogleChannel channel = new GoogleChannel(run.endpoint)) {
            Subscriber subscriber =
                    Subscriber.newBuilder(run.subscription(), receiver)
                            .setFlowControlSettings(FLOW_CONTROL)
                            .setChannelProvider(channel.provider())
                            .setCredentialsProvider(NoCredentialsProvider.create())
                            .build();
            subscriber.startAsync().awaitRunning();
            meter.awaitEnd();
            meter.stop();
            subscriber.stopAsync();
            try {
                subscriber.awaitTerminated(10, TimeUnit.SECONDS);
            } catch (TimeoutException e) {
                System.err.println("Google's subscriber took more than 10 s to stop");
            }
        }
    }
}

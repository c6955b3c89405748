package io.github.flinkpubsub.bench;

import com.google.api.gax.core.NoCredentialsProvider;
import com.google.cloud.pubsub.v1.AckReplyConsumer;
import com.google.cloud.pubsub.v1.MessageReceiver;
import com.google.cloud.pubsub.v1.Subscriber;
import com.google.pubsub.v1.PubsubMessage;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Google's subscriber with its default settings: the payload becomes a String, the ack goes out at
 * once.
 */
final class GoogleSubscriber implements Contender {
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

package io.github.flinkpubsub.bench;

import com.google.api.core.ApiFuture;
import com.google.api.core.ApiFutureCallback;
import com.google.api.core.ApiFutures;
import com.google.api.gax.batching.BatchingSettings;
import com.google.api.gax.batching.FlowControlSettings;
import com.google.api.gax.batching.FlowController.LimitExceededBehavior;
import com.google.api.gax.core.NoCredentialsProvider;
import com.google.cloud.pubsub.v1.Publisher;
import com.google.common.util.concurrent.MoreExecutors;
import com.google.protobuf.ByteString;
import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.sink.PubSubPublisherOptions;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/** Google's publisher with the limits of our sink, for batches and for what is in flight. */
final class GooglePublisher implements Contender {
    @Override
    public void run(Run run, Meter meter) throws Exception {
        PubSubPublisherOptions bounds = Run.publisherOptions();
        BatchingSettings batching =
                BatchingSettings.newBuilder()
                        .setElementCountThreshold((long) bounds.batchElementCountThreshold())
                        .setRequestByteThreshold((long) bounds.batchRequestByteThreshold())
                        .setDelayThresholdDuration(bounds.batchDelayThreshold())
                        .setFlowControlSettings(
                                FlowControlSettings.newBuilder()
                                        .setMaxOutstandingElementCount(bounds.maxInFlightMessages())
                                        .setMaxOutstandingRequestBytes(bounds.maxInFlightBytes())
                                        .setLimitExceededBehavior(LimitExceededBehavior.Block)
                                        .build())
                        .build();
        String[] payloads = run.workload.payloads();
        AtomicReference<Throwable> failure = new AtomicReference<>();
        ApiFutureCallback<String> callback =
                new ApiFutureCallback<String>() {
                    @Override
                    public void onFailure(Throwable t) {
                        failure.compareAndSet(null, t);
                    }

                    @Override
                    public void onSuccess(String id) {}
                };
        try (GoogleChannel channel = new GoogleChannel(run.endpoint)) {
            Publisher publisher =
                    Publisher.newBuilder(run.topic())
                            .setChannelProvider(channel.provider())
                            .setCredentialsProvider(NoCredentialsProvider.create())
                            .setBatchingSettings(batching)
                            .build();
            for (long i = 1; i <= run.messages && failure.get() == null; i++) {
                PubsubMessage message =
                        PubsubMessage.newBuilder()
                                .setData(
                                        ByteString.copyFromUtf8(
                                                payloads[(int) (i % payloads.length)]))
                                .putAllAttributes(run.workload.attributes)
                                .build();
                ApiFuture<String> future = publisher.publish(message);
                ApiFutures.addCallback(future, callback, MoreExecutors.directExecutor());
                meter.passed(i);
            }
            publisher.shutdown();
            if (!publisher.awaitTermination(1, TimeUnit.MINUTES)) {
                throw new IllegalStateException(
                        "Google's publisher did not finish within a minute");
            }
            meter.stop();
        }
        if (failure.get() != null) {
            throw new IllegalStateException("A publish failed", failure.get());
        }
    }
}

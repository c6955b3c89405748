package io.github.flinkpubsub.bench;

import com.google.api.gax.grpc.GrpcTransportChannel;
import com.google.api.gax.rpc.FixedTransportChannelProvider;
import com.google.api.gax.rpc.TransportChannelProvider;

import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;

/** A plaintext channel for Google's clients. */
final class GoogleChannel implements AutoCloseable {
    private final ManagedChannel channel;

    GoogleChannel(String endpoint) {
        channel =
                ManagedChannelBuilder.forTarget(endpoint)
                        .usePlaintext()
                        .maxInboundMessageSize(20 << 20)
                        .build();
    }

    TransportChannelProvider provider() {
        return FixedTransportChannelProvider.create(GrpcTransportChannel.create(channel));
    }

    @Override
    public void close() {
        channel.shutdownNow();
    }
}

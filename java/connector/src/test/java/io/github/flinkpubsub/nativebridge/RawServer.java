package io.github.flinkpubsub.nativebridge;

import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;

/** A server whose streams send whatever bytes they are told to, as responses. */
final class RawServer implements AutoCloseable {

    private static final String SERVICE = "google.pubsub.v1.Subscriber";

    /** It speaks of every stream that a client leaves. */
    private static final Logger QUIET =
            Logger.getLogger("io.grpc.netty.shaded.io.grpc.netty.NettyServerHandler");

    private final Server server;
    private volatile List<byte[]> responses = List.of();

    RawServer() throws IOException {
        QUIET.setLevel(Level.OFF);
        server =
                NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0))
                        .addService(
                                ServerServiceDefinition.builder(SERVICE)
                                        .addMethod(
                                                method("StreamingPull", MethodType.BIDI_STREAMING),
                                                ServerCalls.asyncBidiStreamingCall(this::stream))
                                        .addMethod(
                                                method("ModifyAckDeadline", MethodType.UNARY),
                                                ServerCalls.asyncUnaryCall(RawServer::accept))
                                        .addMethod(
                                                method("Acknowledge", MethodType.UNARY),
                                                ServerCalls.asyncUnaryCall(RawServer::accept))
                                        .build())
                        .build()
                        .start();
    }

    String endpoint() {
        return "127.0.0.1:" + server.getPort();
    }

    /** What a stream sends when it is opened, before it stays open. */
    void send(byte[]... responses) {
        this.responses = List.of(responses);
    }

    private StreamObserver<byte[]> stream(StreamObserver<byte[]> answers) {
        responses.forEach(answers::onNext);
        return new StreamObserver<>() {
            @Override
            public void onNext(byte[] request) {}

            @Override
            public void onError(Throwable t) {}

            @Override
            public void onCompleted() {
                answers.onCompleted();
            }
        };
    }

    private static void accept(byte[] request, StreamObserver<byte[]> answer) {
        answer.onNext(new byte[0]);
        answer.onCompleted();
    }

    private static MethodDescriptor<byte[], byte[]> method(String name, MethodType type) {
        Bytes bytes = new Bytes();
        return MethodDescriptor.newBuilder(bytes, bytes)
                .setType(type)
                .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, name))
                .build();
    }

    @Override
    public void close() {
        server.shutdownNow();
    }

    private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {

        @Override
        public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
            try {
                return stream.readAllBytes();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}

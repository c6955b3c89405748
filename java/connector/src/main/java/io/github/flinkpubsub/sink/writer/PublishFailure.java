package io.github.flinkpubsub.sink.writer;

import io.github.flinkpubsub.PubSubException.Status;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** A failure as the native publisher describes it. */
final class PublishFailure {

    private static final int TERMINAL = 0;

    private final Status status;
    private final int topic;
    private final boolean terminal;
    private final String text;
    private final byte[] message;

    private PublishFailure(
            Status status, int topic, boolean terminal, String text, byte[] message) {
        this.status = status;
        this.topic = topic;
        this.terminal = terminal;
        this.text = text;
        this.message = message;
    }

    /** Reads a descriptor; {@code docs/boundary.md} has its layout. */
    static PublishFailure parse(byte[] descriptor) {
        ByteBuffer in = ByteBuffer.wrap(descriptor);
        Status status = Status.fromCode(in.getInt());
        int topic = in.getInt();
        boolean terminal = in.get() == TERMINAL;
        String text = new String(bytes(in), StandardCharsets.UTF_8);
        return new PublishFailure(status, topic, terminal, text, bytes(in));
    }

    private static byte[] bytes(ByteBuffer in) {
        byte[] bytes = new byte[in.getInt()];
        in.get(bytes);
        return bytes;
    }

    Status status() {
        return status;
    }

    /** The topic's native number. */
    int topic() {
        return topic;
    }

    /** Whether it concerns more than one message and the job must fail. */
    boolean terminal() {
        return terminal;
    }

    String text() {
        return text;
    }

    /** The refused message in its wire form; empty for a terminal failure. */
    byte[] message() {
        return message;
    }
}

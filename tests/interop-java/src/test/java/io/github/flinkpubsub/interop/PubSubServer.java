package io.github.flinkpubsub.interop;

/** A Pub/Sub server on the loopback interface. */
interface PubSubServer extends AutoCloseable {
    /** {@code host:port}. */
    String endpoint();

    /** Whether it delivers in order within a key. */
    boolean keepsOrder();

    /** StreamingPull streams that a reader should open. */
    int streams();

    @Override
    void close();
}

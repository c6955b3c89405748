package io.github.flinkpubsub.nativebridge;

import org.apache.flink.annotation.Internal;

import java.io.Closeable;
import java.io.IOException;
import java.time.Instant;
import java.util.Map;

/**
 * Calls about subscriptions and topics, by resource name. They block until the service has
 * answered, at most 30 s; {@code docs/boundary.md} has the keys of settings.
 */
@Internal
public interface Admin extends Closeable {

    /** What the service says of a subscription. */
    Map<String, String> describeSubscription(String name) throws IOException;

    /** Creates a subscription; false when it exists already. */
    boolean createSubscription(String name, NativeOptions settings) throws IOException;

    /** Deletes a subscription; false when there is none. */
    boolean deleteSubscription(String name) throws IOException;

    /** Moves a subscription to a time. */
    void seek(String name, Instant time) throws IOException;

    /** Moves a subscription to a snapshot. */
    void seekToSnapshot(String name, String snapshot) throws IOException;

    /** What the service says of a topic. */
    Map<String, String> describeTopic(String name) throws IOException;

    /** A second call does nothing. */
    @Override
    void close();
}

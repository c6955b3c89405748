package io.github.flinkpubsub;

import org.apache.flink.annotation.PublicEvolving;

import javax.annotation.Nullable;

/**
 * The native library met a state that it holds to be impossible. The task fails; the JVM and other
 * tasks do not.
 */
@PublicEvolving
public final class NativePanicException extends PubSubException {

    private static final long serialVersionUID = 1L;

    /**
     * @param resource name of the subscription or topic, null when the failure belongs to none
     * @param message what the library said
     */
    public NativePanicException(@Nullable String resource, String message) {
        super(Status.INTERNAL, resource, message);
    }
}

package io.github.flinkpubsub.sink;

import io.github.flinkpubsub.OptionChecks;

import org.apache.flink.annotation.PublicEvolving;

import java.io.Serializable;

/** Whether publish requests are compressed on their way to the service. */
@PublicEvolving
public final class Compression implements Serializable {

    private static final long serialVersionUID = 1L;

    private static final int NEVER = -1;

    private final int thresholdBytes;

    private Compression(int thresholdBytes) {
        this.thresholdBytes = thresholdBytes;
    }

    /** Not at all; the default. */
    public static Compression none() {
        return new Compression(NEVER);
    }

    /**
     * With gzip, from a request's encoded size on: less traffic for more CPU.
     *
     * @param thresholdBytes smaller requests go as they are; 0 to 10,000,000
     */
    public static Compression gzip(int thresholdBytes) {
        return new Compression(OptionChecks.within("compression", thresholdBytes, 0, 10_000_000));
    }

    /** From which size on, in bytes; -1 for never. */
    int thresholdBytes() {
        return thresholdBytes;
    }
}

package io.github.flinkpubsub.wire;

import org.apache.flink.annotation.Internal;

/** A message that the service would refuse; the text names the field and the limit. */
@Internal
public final class InvalidMessageException extends Exception {

    private static final long serialVersionUID = 1L;

    InvalidMessageException(String message) {
        super(message);
    }
}

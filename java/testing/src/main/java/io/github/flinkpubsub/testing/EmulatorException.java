package io.github.flinkpubsub.testing;

/** The server's control interface refused a call or could not be reached; the message says why. */
public final class EmulatorException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    EmulatorException(String message) {
        super(message);
    }

    EmulatorException(String message, Throwable cause) {
        super(message, cause);
    }
}

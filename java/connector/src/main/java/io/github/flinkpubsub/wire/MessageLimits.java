package io.github.flinkpubsub.wire;

import io.github.flinkpubsub.OptionChecks;

import org.apache.flink.annotation.Internal;

/** What the service accepts in one message; it refuses the whole request for one that is above. */
@Internal
public final class MessageLimits {

    /** Bytes of payload. */
    public static final int PAYLOAD_BYTES = 10_000_000;

    /** Attributes of a message. */
    public static final int ATTRIBUTES = 100;

    /** Bytes of an attribute's name, as UTF-8. */
    public static final int ATTRIBUTE_NAME_BYTES = 256;

    /** Bytes of an attribute's value, as UTF-8. */
    public static final int ATTRIBUTE_VALUE_BYTES = 1_024;

    /** Bytes of the ordering key, as UTF-8. */
    public static final int ORDERING_KEY_BYTES = 1_024;

    /** Names of attributes must not start so. */
    public static final String RESERVED_PREFIX = "goog";

    private MessageLimits() {}

    /**
     * Checks the name of an attribute that an option asks for.
     *
     * @throws IllegalArgumentException naming the option when the service would refuse the name
     */
    public static void checkAttributeName(String option, String name) {
        OptionChecks.notBlank(option, name);
        int length = Utf8.length(name);
        if (length < 0 || length > ATTRIBUTE_NAME_BYTES || name.startsWith(RESERVED_PREFIX)) {
            throw new IllegalArgumentException(
                    option
                            + ": '"
                            + name
                            + "' cannot be the name of an attribute, which has at most "
                            + ATTRIBUTE_NAME_BYTES
                            + " bytes of UTF-8 and does not start with '"
                            + RESERVED_PREFIX
                            + "'");
        }
    }
}

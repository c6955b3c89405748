package io.github.flinkpubsub;

import org.apache.flink.annotation.Internal;

import java.time.Duration;

/** Checks of option values; every message names the option. */
@Internal
public final class OptionChecks {

    private OptionChecks() {}

    public static String notBlank(String option, String value) {
        if (value == null || value.trim().isEmpty()) {
            throw new IllegalArgumentException(option + " must not be null or blank");
        }
        return value;
    }

    public static <T> T notNull(String option, T value) {
        if (value == null) {
            throw new IllegalArgumentException(option + " must not be null");
        }
        return value;
    }

    public static int within(String option, int value, int lowest, int highest) {
        return (int) within(option, (long) value, lowest, highest);
    }

    public static long within(String option, long value, long lowest, long highest) {
        if (value < lowest || value > highest) {
            throw new IllegalArgumentException(
                    option + " must be within " + lowest + " to " + highest + ", not " + value);
        }
        return value;
    }

    public static Duration within(
            String option, Duration value, Duration lowest, Duration highest) {
        notNull(option, value);
        if (value.compareTo(lowest) < 0 || value.compareTo(highest) > 0) {
            throw new IllegalArgumentException(
                    option + " must be within " + lowest + " to " + highest + ", not " + value);
        }
        return value;
    }
}

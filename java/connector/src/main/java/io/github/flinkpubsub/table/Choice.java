package io.github.flinkpubsub.table;

import org.apache.flink.configuration.ConfigOption;

import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/**
 * The values of an option that has a few, by their names. Upper case and underscores do not matter.
 *
 * @param <T> what a value stands for
 */
final class Choice<T> {

    private final Map<String, T> values = new LinkedHashMap<>();

    Choice<T> with(String name, T value) {
        values.put(name, value);
        return this;
    }

    T parse(ConfigOption<String> option, String text) {
        T value = values.get(text.trim().toLowerCase(Locale.ROOT).replace('_', '-'));
        if (value == null) {
            throw Settings.invalid(
                    option,
                    "it must be one of "
                            + String.join(", ", values.keySet())
                            + ", not '"
                            + text
                            + "'");
        }
        return value;
    }
}

package io.github.flinkpubsub.table;

import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.table.api.ValidationException;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.regex.Matcher;

/**
 * The setters of a builder and the options that they are reached by. What a setter refuses comes
 * out as a {@link ValidationException} that speaks of the option instead of the setter.
 *
 * @param <B> the builder
 */
final class Settings<B> {

    private final List<Setting<B, ?>> all = new ArrayList<>();

    /** Adds an option whose value a setter takes. */
    <T> Settings<B> with(ConfigOption<T> option, String setter, BiConsumer<B, T> apply) {
        all.add(new Setting<>(option, setter, apply));
        return this;
    }

    /** Adds a flag for a setter without an argument. */
    Settings<B> withFlag(ConfigOption<Boolean> option, String setter, Consumer<B> set) {
        return with(
                option,
                setter,
                (builder, on) -> {
                    if (on) {
                        set.accept(builder);
                    }
                });
    }

    /** Hands the options that are set to their setters. */
    void apply(ReadableConfig options, B builder) {
        for (Setting<B, ?> setting : all) {
            setting.apply(options, builder);
        }
    }

    /** Runs what may refuse a combination of options, such as a builder's {@code build}. */
    <T> T translated(Supplier<T> action) {
        try {
            return action.get();
        } catch (IllegalArgumentException e) {
            throw new ValidationException(translate(e.getMessage()), e);
        }
    }

    private String translate(String message) {
        String translated = message;
        for (Setting<B, ?> setting : all) {
            translated = setting.translate(translated);
        }
        return translated;
    }

    /** The options of the group that are set. */
    List<String> given(ReadableConfig options) {
        List<String> given = new ArrayList<>();
        for (Setting<B, ?> setting : all) {
            if (options.getOptional(setting.option).isPresent()) {
                given.add(setting.option.key());
            }
        }
        return given;
    }

    /** The options. */
    List<ConfigOption<?>> options() {
        List<ConfigOption<?>> options = new ArrayList<>();
        all.forEach(setting -> options.add(setting.option));
        return options;
    }

    /** The setters by the keys of their options. */
    Map<String, String> setters() {
        Map<String, String> setters = new LinkedHashMap<>();
        all.forEach(setting -> setters.put(setting.option.key(), setting.setter));
        return setters;
    }

    /** A value that one option alone shows to be wrong. */
    static ValidationException invalid(ConfigOption<?> option, String why) {
        return new ValidationException("Invalid value for option '" + option.key() + "': " + why);
    }

    /** Runs what an option's value is used for. */
    static <T> T checked(ConfigOption<?> option, Supplier<T> use) {
        try {
            return use.get();
        } catch (IllegalArgumentException e) {
            throw invalid(option, e.getMessage());
        }
    }

    private static final class Setting<B, T> {

        private final ConfigOption<T> option;
        private final String setter;
        private final BiConsumer<B, T> apply;

        Setting(ConfigOption<T> option, String setter, BiConsumer<B, T> apply) {
            this.option = option;
            this.setter = setter;
            this.apply = apply;
        }

        void apply(ReadableConfig options, B builder) {
            T value = options.getOptional(option).orElse(null);
            if (value == null) {
                return;
            }
            try {
                apply.accept(builder, value);
            } catch (IllegalArgumentException e) {
                throw invalid(option, translate(e.getMessage()));
            }
        }

        String translate(String message) {
            return message.replaceAll(
                    "\\b" + setter + "\\b", Matcher.quoteReplacement("'" + option.key() + "'"));
        }
    }
}

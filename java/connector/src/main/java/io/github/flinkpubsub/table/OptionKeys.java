package io.github.flinkpubsub.table;

import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.table.api.ValidationException;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

import javax.annotation.Nullable;

/** Finds keys that no option has, and guesses which one was meant. */
final class OptionKeys {

    /** The keys of the connector; true for those that are followed by a name of the user's. */
    private final Map<String, Boolean> known = new TreeMap<>();

    /** Adds options of the connector. */
    OptionKeys with(Iterable<ConfigOption<?>> options) {
        for (ConfigOption<?> option : options) {
            boolean map =
                    option.equals(PubSubConnectorOptions.SCAN_AUTO_CREATE_TOPICS)
                            || option.equals(PubSubConnectorOptions.SCAN_AUTO_CREATE_LABELS)
                            || option.equals(PubSubConnectorOptions.SINK_AUTO_CREATE_LABELS);
            known.put(option.key(), map);
        }
        return this;
    }

    /**
     * Refuses keys that neither the connector nor, by its prefix, the format can have.
     *
     * @param format the identifier of the format; null when it is not given
     */
    void check(Set<String> keys, @Nullable String format) {
        for (String key : new TreeSet<>(keys)) {
            if (isKnown(key) || (format != null && key.startsWith(format + "."))) {
                continue;
            }
            String guess = guess(key);
            throw new ValidationException(
                    "Unsupported option '"
                            + key
                            + "' for connector '"
                            + PubSubTableFactory.IDENTIFIER
                            + "'"
                            + (guess == null
                                    ? ". Supported are: " + String.join(", ", known.keySet())
                                    : ". Did you mean '" + guess + "'?"));
        }
    }

    private boolean isKnown(String key) {
        return known.containsKey(key)
                || known.entrySet().stream()
                        .anyMatch(
                                option ->
                                        option.getValue() && key.startsWith(option.getKey() + "."));
    }

    @Nullable
    private String guess(String key) {
        String typed = key.toLowerCase(Locale.ROOT).replace('_', '-');
        String guess = null;
        double best = 0.25;
        for (Map.Entry<String, Boolean> option : known.entrySet()) {
            String candidate = option.getKey();
            String name = "";
            if (option.getValue()) {
                // What follows is the user's own.
                name = typed.substring(head(typed, candidate).length());
            }
            double distance =
                    relative(typed.substring(0, typed.length() - name.length()), candidate);
            if (distance < best) {
                best = distance;
                guess = candidate + name;
            }
        }
        return guess != null ? guess : byWords(typed);
    }

    /** As many parts of a key as another one has. */
    private static String head(String key, String like) {
        int at = -1;
        for (int part = like.split("\\.").length; part > 0; part--) {
            at = key.indexOf('.', at + 1);
            if (at < 0) {
                return key;
            }
        }
        return key.substring(0, at);
    }

    /** A key with mostly the same words, such as one that lacks a part. */
    @Nullable
    private String byWords(String typed) {
        Set<String> words = words(typed);
        String guess = null;
        double best = 0.55;
        for (String candidate : known.keySet()) {
            Set<String> common = words(candidate);
            Set<String> all = new HashSet<>(common);
            all.addAll(words);
            common.retainAll(words);
            double share = (double) common.size() / all.size();
            if (share > best) {
                best = share;
                guess = candidate;
            }
        }
        return guess;
    }

    private static Set<String> words(String key) {
        return new HashSet<>(Arrays.asList(key.split("[.-]")));
    }

    /** The edit distance in relation to the length. */
    private static double relative(String a, String b) {
        int[] row = new int[b.length() + 1];
        for (int j = 0; j <= b.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int replaced = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(replaced, Math.min(row[j], row[j - 1]) + 1);
            }
        }
        return (double) row[b.length()] / Math.max(a.length(), b.length());
    }
}

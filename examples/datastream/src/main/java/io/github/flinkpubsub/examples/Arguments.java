package io.github.flinkpubsub.examples;

import java.util.LinkedHashMap;
import java.util.Map;

/** A job's command line: {@code --name value}, in any order. */
final class Arguments {
    private final String usage;
    private final Map<String, String> values = new LinkedHashMap<>();

    /**
     * @param usage told with every mistake; an argument is known when it is in here
     * @throws IllegalArgumentException when an argument is not known or has no value
     */
    Arguments(String usage, String... arguments) {
        this.usage = usage;
        for (int i = 0; i < arguments.length; i += 2) {
            if (!arguments[i].startsWith("--") || !usage.contains(arguments[i] + " ")) {
                throw mistake(arguments[i] + " is not known");
            }
            if (i + 1 == arguments.length) {
                throw mistake(arguments[i] + " has no value");
            }
            values.put(arguments[i].substring(2), arguments[i + 1]);
        }
    }

    /** A value that must be there. */
    String get(String name) {
        String value = values.get(name);
        if (value == null) {
            throw mistake("--" + name + " is missing");
        }
        return value;
    }

    String get(String name, String otherwise) {
        return values.getOrDefault(name, otherwise);
    }

    private IllegalArgumentException mistake(String what) {
        return new IllegalArgumentException(what + "; usage: " + usage);
    }
}

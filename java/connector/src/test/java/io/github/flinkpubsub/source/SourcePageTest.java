package io.github.flinkpubsub.source;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.flinkpubsub.nativebridge.SubscriberCounter;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Holds the page about the source and the builders to each other, in both directions. */
class SourcePageTest {

    private static final Pattern NAME = Pattern.compile("`([A-Za-z]+)`");

    private static String page() throws IOException {
        Path docs = Paths.get("").toAbsolutePath();
        while (!Files.exists(docs.resolve("docs/source.md"))) {
            docs = docs.getParent();
        }
        return Files.readString(docs.resolve("docs/source.md"));
    }

    /** The options of a table and their defaults; several may share a row. */
    private static TreeMap<String, String> table(String heading) throws IOException {
        String page = page();
        int start = page.indexOf("## " + heading + "\n");
        assertThat(start).as(heading).isNotNegative();
        int end = page.indexOf("\n## ", start + 1);
        TreeMap<String, String> options = new TreeMap<>();
        for (String row : page.substring(start, end).split("\n")) {
            String[] cells = row.split("\\|");
            if (cells.length > 2) {
                Matcher names = NAME.matcher(cells[1]);
                while (names.find()) {
                    options.put(names.group(1), cells[2].trim());
                }
            }
        }
        return options;
    }

    private static Set<String> setters(Class<?> builder) {
        Set<String> names = new TreeSet<>();
        for (Method method : builder.getDeclaredMethods()) {
            if (Modifier.isPublic(method.getModifiers()) && method.getReturnType() == builder) {
                names.add(method.getName());
            }
        }
        return names;
    }

    @Test
    void everyOptionOfTheSourceIsDescribedAndExists() throws Exception {
        assertThat(table("Source builder").keySet()).isEqualTo(setters(PubSubSourceBuilder.class));
    }

    @Test
    void everyOptionOfCreationIsDescribedAndExists() throws Exception {
        assertThat(table("`SubscriptionCreateOptions`").keySet())
                .isEqualTo(setters(SubscriptionCreateOptions.Builder.class));
    }

    @Test
    void everyOptionOfTheSubscriberIsDescribedWithItsDefault() throws Exception {
        TreeMap<String, String> table = table("`PubSubSubscriberOptions`");
        assertThat(table.keySet()).isEqualTo(setters(PubSubSubscriberOptions.Builder.class));
        for (String option : table.keySet()) {
            Object value =
                    PubSubSubscriberOptions.class
                            .getMethod(option)
                            .invoke(PubSubSubscriberOptions.defaults());
            assertThat(table.get(option))
                    .as(option)
                    .isEqualTo(value == null ? "adaptive" : value.toString());
        }
    }

    @Test
    void everyCounterIsDescribed() throws Exception {
        String page = page();
        assertThat(Arrays.stream(SubscriberCounter.values()).map(SubscriberCounter::metricName))
                .allSatisfy(name -> assertThat(page).contains("`" + name + "`"));
    }
}

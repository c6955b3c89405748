package io.github.flinkpubsub;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A page of the documentation, for tests that hold it and the code to each other. */
public final class ReferencePage {

    private static final Pattern NAME = Pattern.compile("`([A-Za-z.<>-]+)(?:\\([^`]*)?`");

    private final String text;

    private ReferencePage(String text) {
        this.text = text;
    }

    /** The page of that name below {@code docs}. */
    public static ReferencePage read(String name) throws IOException {
        Path root = Paths.get("").toAbsolutePath();
        while (!Files.exists(root.resolve("docs").resolve(name))) {
            root = root.getParent();
        }
        return new ReferencePage(Files.readString(root.resolve("docs").resolve(name)));
    }

    /** The names in a table's first column, several in a row perhaps, with the second column. */
    public TreeMap<String, String> table(String heading) {
        TreeMap<String, String> values = new TreeMap<>();
        rows(heading).forEach((name, cells) -> values.put(name, cells[2].trim()));
        return values;
    }

    /** The names in the first column of tables, with all cells; the first of them is empty. */
    public TreeMap<String, String[]> rows(String heading) {
        int start = text.indexOf("## " + heading + "\n");
        assertThat(start).as(heading).isNotNegative();
        int end = text.indexOf("\n## ", start + 1);
        TreeMap<String, String[]> rows = new TreeMap<>();
        for (String row : text.substring(start, end < 0 ? text.length() : end).split("\n")) {
            String[] cells = row.split("\\|");
            if (cells.length > 2) {
                Matcher names = NAME.matcher(cells[1]);
                while (names.find()) {
                    rows.put(names.group(1), cells);
                }
            }
        }
        return rows;
    }

    /** The whole page. */
    public String text() {
        return text;
    }

    /** The options of a builder: what it answers itself for. */
    public static Set<String> setters(Class<?> builder) {
        Set<String> names = new TreeSet<>();
        for (Method method : builder.getDeclaredMethods()) {
            if (Modifier.isPublic(method.getModifiers()) && method.getReturnType() == builder) {
                names.add(method.getName());
            }
        }
        return names;
    }
}

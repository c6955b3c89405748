package io.github.flinkpubsub.formats;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.LinkedHashMap;
import java.util.Map;

/** Holds the page about Beam's verbs to the test that executes its lines. */
class MigrationPageTest {

    private static Path root() {
        Path folder = Paths.get("").toAbsolutePath();
        while (!Files.exists(folder.resolve("docs/migration.md"))) {
            folder = folder.getParent();
        }
        return folder;
    }

    /** The lines of code in the tables of the section, by the verb. */
    private static Map<String, String> lines() throws IOException {
        String page = Files.readString(root().resolve("docs/migration.md"));
        int start = page.indexOf("### Reading\n");
        int end = page.indexOf("### What is different", start);
        assertThat(start).isPositive();
        assertThat(end).isGreaterThan(start);
        Map<String, String> lines = new LinkedHashMap<>();
        for (String row : page.substring(start, end).split("\n")) {
            String[] cells = row.split(" \\| ");
            if (cells.length == 2 && !cells[0].equals("| Beam")) {
                String code = cells[1].replaceAll("^`|` \\|$", "");
                lines.put(cells[0].substring(2) + lines.size(), code);
            }
        }
        return lines;
    }

    private static String withoutSpace(String code) {
        return code.replaceAll("\\s", "");
    }

    @Test
    void everyLineOfThePageIsExecuted() throws Exception {
        String tests =
                withoutSpace(
                        Files.readString(
                                root().resolve(
                                                "java/formats/src/test/java/io/github/flinkpubsub/"
                                                        + "formats/BeamVerbsIT.java")));
        Map<String, String> lines = lines();
        assertThat(lines).hasSizeGreaterThan(35);
        lines.forEach((verb, code) -> assertThat(tests).as(verb).contains(withoutSpace(code)));
    }
}

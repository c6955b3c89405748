package io.github.flinkpubsub.compat;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/** The Java of the pages compiles as it stands there, with a user's imports. */
class PagesTest {

    private static final Pattern BLOCK = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);
    private static final Pattern IMPORT = Pattern.compile("(?m)^import .*;\n");

    private static final String IMPORTS =
            String.join(
                    "\n",
                    "import static org.assertj.core.api.Assertions.assertThat;",
                    "import com.google.auth.Credentials;",
                    "import io.github.flinkpubsub.*;",
                    "import io.github.flinkpubsub.sink.*;",
                    "import io.github.flinkpubsub.source.*;",
                    "import io.github.flinkpubsub.testing.*;",
                    "import io.grpc.Status.Code;",
                    "import java.time.Duration;",
                    "import java.util.Map;",
                    "import org.apache.flink.api.common.eventtime.WatermarkStrategy;",
                    "import org.apache.flink.api.common.serialization.*;",
                    "import org.apache.flink.api.java.tuple.Tuple2;",
                    "import org.apache.flink.streaming.api.datastream.DataStream;",
                    "import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;",
                    "import org.junit.jupiter.api.Test;",
                    "import org.junit.jupiter.api.extension.ExtendWith;",
                    "");

    /** What the pages suppose a reader to have. */
    private static final String OF_THE_READER =
            String.join(
                    "\n",
                    "abstract class Page {",
                    "    interface OrderEvent {",
                    "        String id();",
                    "        String customerId();",
                    "        String region();",
                    "    }",
                    "    static class OrderEventSchema",
                    "            extends AbstractDeserializationSchema<OrderEvent>",
                    "            implements SerializationSchema<OrderEvent> {",
                    "        public OrderEvent deserialize(byte[] data) { return null; }",
                    "        public byte[] serialize(OrderEvent order) { return null; }",
                    "    }",
                    "    StreamExecutionEnvironment env;",
                    "    DataStream<OrderEvent> orders;",
                    "    Credentials credentials;",
                    "    SubscriptionDestination subscription;",
                    "");

    private static Path root() {
        Path folder = Paths.get("").toAbsolutePath();
        while (!Files.exists(folder.resolve("docs/migration.md"))) {
            folder = folder.getParent();
        }
        return folder;
    }

    private static String unit(String block) {
        StringBuilder imports = new StringBuilder();
        Matcher lines = IMPORT.matcher(block);
        while (lines.find()) {
            imports.append(lines.group());
        }
        String code = lines.replaceAll("").replace("…", "");
        boolean type = code.contains("class ");
        String member = type ? code : "void page() throws Exception {\n" + code + "}\n";
        return imports + IMPORTS + OF_THE_READER + member + "}\n";
    }

    @ParameterizedTest
    @CsvSource({
        "README.md, 1",
        "docs/emulator.md, 1",
        "docs/migration.md, 1",
        "docs/sink.md, 1",
        "docs/source.md, 2"
    })
    void theCodeOfAPageCompiles(String page, int blocks, @TempDir Path folder) throws Exception {
        Matcher block = BLOCK.matcher(Files.readString(root().resolve(page)));
        List<Path> units = new ArrayList<>();
        while (block.find()) {
            Path unit = Files.createDirectories(folder.resolve("" + units.size()));
            units.add(Files.writeString(unit.resolve("Page.java"), unit(block.group(1))));
        }
        assertThat(units).hasSize(blocks);
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
            for (Path unit : units) {
                StringWriter messages = new StringWriter();
                boolean compiles =
                        compiler.getTask(
                                        messages,
                                        files,
                                        null,
                                        List.of("--release", "11", "-proc:none", "-d", folder + ""),
                                        null,
                                        files.getJavaFileObjects(unit.toFile()))
                                .call();
                assertThat(compiles).as("%s", messages).isTrue();
            }
        }
    }
}

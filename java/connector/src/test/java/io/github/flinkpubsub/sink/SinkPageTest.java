package io.github.flinkpubsub.sink;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.flinkpubsub.PubSubSerializationSchema;
import io.github.flinkpubsub.ReferencePage;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** Holds the page about the sink and the builders to each other, in both directions. */
class SinkPageTest {

    private ReferencePage page;

    @BeforeEach
    void read() throws Exception {
        page = ReferencePage.read("sink.md");
    }

    @Test
    void everyOptionOfTheSinkIsDescribedAndExists() {
        assertThat(page.table("Sink builder").keySet())
                .isEqualTo(ReferencePage.setters(PubSubSinkBuilder.class));
    }

    @Test
    void everyOptionOfCreationIsDescribedAndExists() {
        assertThat(page.table("`TopicCreateOptions`").keySet())
                .isEqualTo(ReferencePage.setters(TopicCreateOptions.Builder.class));
    }

    @Test
    void everyOptionOfThePublisherIsDescribedWithItsDefault() throws Exception {
        Map<String, String> table = page.table("`PubSubPublisherOptions`");
        assertThat(table.keySet())
                .isEqualTo(ReferencePage.setters(PubSubPublisherOptions.Builder.class));
        for (String option : table.keySet()) {
            Object value =
                    PubSubPublisherOptions.class
                            .getMethod(option)
                            .invoke(PubSubPublisherOptions.defaults());
            assertThat(table.get(option))
                    .as(option)
                    .isEqualTo(value instanceof Compression ? "none" : value.toString());
        }
    }

    @Test
    void everyExtensionOfTheSerializerIsDescribedAndExists() {
        assertThat(page.table("Serializer").keySet())
                .isEqualTo(
                        Arrays.stream(PubSubSerializationSchema.class.getMethods())
                                .map(Method::getName)
                                .filter(name -> name.startsWith("with"))
                                .collect(Collectors.toCollection(TreeSet::new)));
    }

    @Test
    void everyHandlerIsDescribedAndExists() {
        assertThat(page.table("Messages that fail").keySet())
                .isEqualTo(
                        Arrays.stream(FailedMessageHandler.class.getMethods())
                                .filter(
                                        method ->
                                                method.getReturnType()
                                                        == FailedMessageHandler.class)
                                .map(Method::getName)
                                .collect(Collectors.toCollection(TreeSet::new)));
    }
}

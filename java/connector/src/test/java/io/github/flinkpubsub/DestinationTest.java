package io.github.flinkpubsub;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.flink.util.InstantiationUtil;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DestinationTest {

    @Test
    void partsAndPath() {
        TopicDestination topic = TopicDestination.of("p", "orders");
        assertThat(topic.project()).isEqualTo("p");
        assertThat(topic.topic()).isEqualTo("orders");
        assertThat(topic).hasToString("projects/p/topics/orders");
        SubscriptionDestination subscription =
                SubscriptionDestination.parse("projects/example.com:proj/subscriptions/s.~%+_-1");
        assertThat(subscription.project()).isEqualTo("example.com:proj");
        assertThat(subscription.subscription()).isEqualTo("s.~%+_-1");
        assertThat(subscription.path())
                .isEqualTo("projects/example.com:proj/subscriptions/s.~%+_-1");
    }

    @Test
    void valueSemantics() throws Exception {
        TopicDestination topic = TopicDestination.of("p", "t");
        assertThat(topic)
                .isEqualTo(TopicDestination.parse("projects/p/topics/t"))
                .hasSameHashCodeAs(TopicDestination.parse("projects/p/topics/t"))
                .isEqualTo(InstantiationUtil.clone(topic))
                .isNotEqualTo(TopicDestination.of("p", "t2"))
                .isNotEqualTo(TopicDestination.of("p2", "t"))
                .isNotEqualTo(SubscriptionDestination.of("p", "t"));
        SubscriptionDestination subscription = SubscriptionDestination.of("p", "s");
        assertThat(subscription)
                .isEqualTo(SubscriptionDestination.parse("projects/p/subscriptions/s"))
                .hasSameHashCodeAs(SubscriptionDestination.parse("projects/p/subscriptions/s"))
                .isEqualTo(InstantiationUtil.clone(subscription))
                .isNotEqualTo(SubscriptionDestination.of("p", "s2"))
                .isNotEqualTo(SubscriptionDestination.of("p2", "s"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"p", "my-project", "123456", "example.com:my-project", "my_project"})
    void legalProjects(String project) {
        assertThat(TopicDestination.of(project, "t").project()).isEqualTo(project);
    }

    @ParameterizedTest
    @CsvSource({
        "projects/p, not a path",
        "my project, not a valid project id",
        ":p, not a valid project id",
        "a:b:c, not a valid project id",
        "-p, not a valid project id"
    })
    void illegalProjects(String project, String reason) {
        assertThatThrownBy(() -> TopicDestination.of(project, "t"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("project")
                .hasMessageContaining(reason)
                .hasMessageContaining("'" + project + "'");
    }

    @ParameterizedTest
    @ValueSource(strings = {"1t", "googt", "t t", "t/t", "projects/p/topics/t", "tö", "-t"})
    void illegalIds(String id) {
        assertThatThrownBy(() -> TopicDestination.of("p", id))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("topic")
                .hasMessageContaining("'" + id + "'");
        assertThatThrownBy(() -> SubscriptionDestination.of("p", id))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("subscription")
                .hasMessageContaining("'" + id + "'");
    }

    @Test
    void idsOf255Characters() {
        String longest = "s".repeat(255);
        assertThat(SubscriptionDestination.of("p", longest).subscription()).isEqualTo(longest);
        assertThatThrownBy(() -> SubscriptionDestination.of("p", longest + "s"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("subscription has 256 characters, above 255");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "\t"})
    void blanks(String blank) {
        assertThatThrownBy(() -> TopicDestination.of(blank, "t"))
                .hasMessage("project must not be null or blank");
        assertThatThrownBy(() -> TopicDestination.of("p", blank))
                .hasMessage("topic must not be null or blank");
        assertThatThrownBy(() -> SubscriptionDestination.of("p", blank))
                .hasMessage("subscription must not be null or blank");
        assertThatThrownBy(() -> SubscriptionDestination.parse(blank))
                .hasMessage("subscription must not be null or blank");
    }

    @Test
    void nulls() {
        assertThatThrownBy(() -> TopicDestination.of(null, "t"))
                .hasMessage("project must not be null or blank");
        assertThatThrownBy(() -> TopicDestination.parse(null))
                .hasMessage("topic must not be null or blank");
    }

    @Test
    void theWrongKind() {
        assertThatThrownBy(() -> TopicDestination.parse("projects/p/subscriptions/s"))
                .hasMessage("'projects/p/subscriptions/s' names a subscription, not a topic");
        assertThatThrownBy(() -> SubscriptionDestination.parse("projects/p/topics/t"))
                .hasMessage("'projects/p/topics/t' names a topic, not a subscription");
        assertThatThrownBy(() -> TopicDestination.parse("projects/p/snapshots/s"))
                .hasMessage("'projects/p/snapshots/s' is not the name of a topic");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "orders",
                "topics/t",
                "projects/p/topics/",
                "projects//topics/t",
                "projects/p/topics/t/",
                "/projects/p/topics/t",
                "projects/projects/p/topics/t",
                "project/p/topics/t"
            })
    void paths(String path) {
        assertThatThrownBy(() -> TopicDestination.parse(path))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void aDoubledPrefixIsShown() {
        assertThatThrownBy(() -> TopicDestination.parse("projects/projects/p/topics/t"))
                .hasMessage(
                        "topic must be of the form projects/<project>/topics/<id>:"
                                + " 'projects/projects/p/topics/t'");
    }
}

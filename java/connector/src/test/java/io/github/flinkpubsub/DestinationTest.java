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
        TopicDestination topic = TopicDestination.of("p", "top");
        assertThat(topic)
                .isEqualTo(TopicDestination.parse("projects/p/topics/top"))
                .hasSameHashCodeAs(TopicDestination.parse("projects/p/topics/top"))
                .isEqualTo(InstantiationUtil.clone(topic))
                .isNotEqualTo(TopicDestination.of("p", "top2"))
                .isNotEqualTo(TopicDestination.of("p2", "top"))
                .isNotEqualTo(SubscriptionDestination.of("p", "top"));
        SubscriptionDestination subscription = SubscriptionDestination.of("p", "sub");
        assertThat(subscription)
                .isEqualTo(SubscriptionDestination.parse("projects/p/subscriptions/sub"))
                .hasSameHashCodeAs(SubscriptionDestination.parse("projects/p/subscriptions/sub"))
                .isEqualTo(InstantiationUtil.clone(subscription))
                .isNotEqualTo(SubscriptionDestination.of("p", "sub2"))
                .isNotEqualTo(SubscriptionDestination.of("p2", "sub"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"p", "my-project", "123456", "example.com:my-project", "my_project"})
    void legalProjects(String project) {
        assertThat(TopicDestination.of(project, "top").project()).isEqualTo(project);
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
        assertThatThrownBy(() -> TopicDestination.of(project, "top"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("project")
                .hasMessageContaining(reason)
                .hasMessageContaining("'" + project + "'");
    }

    @ParameterizedTest
    @ValueSource(strings = {"1t", "googt", "t t", "t/t", "projects/p/topics/top", "tö", "-t"})
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
                .hasMessageStartingWith(
                        "subscription must have 3 to 255 characters, not 256: 'sss");
    }

    @Test
    void idsOf3Characters() {
        assertThat(TopicDestination.of("p", "abc").topic()).isEqualTo("abc");
        assertThatThrownBy(() -> TopicDestination.of("p", "ab"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("topic must have 3 to 255 characters, not 2: 'ab'");
        assertThatThrownBy(() -> SubscriptionDestination.parse("projects/p/subscriptions/a"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("subscription must have 3 to 255 characters, not 1: 'a'");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "\t"})
    void blanks(String blank) {
        assertThatThrownBy(() -> TopicDestination.of(blank, "top"))
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
        assertThatThrownBy(() -> TopicDestination.of(null, "top"))
                .hasMessage("project must not be null or blank");
        assertThatThrownBy(() -> TopicDestination.parse(null))
                .hasMessage("topic must not be null or blank");
    }

    @Test
    void theWrongKind() {
        assertThatThrownBy(() -> TopicDestination.parse("projects/p/subscriptions/sub"))
                .hasMessage("'projects/p/subscriptions/sub' names a subscription, not a topic");
        assertThatThrownBy(() -> SubscriptionDestination.parse("projects/p/topics/top"))
                .hasMessage("'projects/p/topics/top' names a topic, not a subscription");
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
                "projects/p/topics/top/",
                "/projects/p/topics/top",
                "projects/projects/p/topics/top",
                "project/p/topics/t"
            })
    void paths(String path) {
        assertThatThrownBy(() -> TopicDestination.parse(path))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void aDoubledPrefixIsShown() {
        assertThatThrownBy(() -> TopicDestination.parse("projects/projects/p/topics/top"))
                .hasMessage(
                        "topic must be of the form projects/<project>/topics/<id>:"
                                + " 'projects/projects/p/topics/top'");
    }
}

package io.github.flinkpubsub;

import org.apache.flink.annotation.PublicEvolving;

import java.io.Serializable;

/**
 * Names a topic: a project and an id of 3 to 255 characters. Whether the topic exists shows when
 * the job runs.
 */
@PublicEvolving
public final class TopicDestination implements Serializable {

    private static final long serialVersionUID = 1L;

    private final String project;
    private final String topic;

    private TopicDestination(String project, String topic) {
        this.project = project;
        this.topic = topic;
    }

    /**
     * Names a topic by project and id.
     *
     * @param project a project id, also domain-scoped as in {@code example.com:my-project}
     * @param topic the id, not a path: 3 to 255 characters, the first a letter, the others letters,
     *     digits and {@code -._~%+}; not starting with {@code goog}
     * @throws IllegalArgumentException when one of them is not legal; names which
     */
    public static TopicDestination of(String project, String topic) {
        return new TopicDestination(
                ResourceName.checkProject(project),
                ResourceName.checkId(ResourceName.Kind.TOPIC, topic));
    }

    /**
     * Names a topic by its path, {@code projects/<project>/topics/<id>}.
     *
     * @throws IllegalArgumentException when it is not such a path
     */
    public static TopicDestination parse(String path) {
        String[] parts = ResourceName.parse(ResourceName.Kind.TOPIC, path);
        return new TopicDestination(parts[0], parts[1]);
    }

    /** The project. */
    public String project() {
        return project;
    }

    /** The id within the project. */
    public String topic() {
        return topic;
    }

    /** {@code projects/<project>/topics/<id>}. */
    public String path() {
        return "projects/" + project + "/topics/" + topic;
    }

    @Override
    public boolean equals(Object other) {
        if (this == other) {
            return true;
        }
        if (!(other instanceof TopicDestination)) {
            return false;
        }
        TopicDestination that = (TopicDestination) other;
        return project.equals(that.project) && topic.equals(that.topic);
    }

    @Override
    public int hashCode() {
        return 31 * project.hashCode() + topic.hashCode();
    }

    /** The path. */
    @Override
    public String toString() {
        return path();
    }
}

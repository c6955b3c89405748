package io.github.flinkpubsub;

import org.apache.flink.annotation.PublicEvolving;

import java.io.Serializable;

/**
 * Names a subscription: a project and an id of 3 to 255 characters. Whether the subscription exists
 * shows when the job runs.
 */
@PublicEvolving
public final class SubscriptionDestination implements Serializable {

    private static final long serialVersionUID = 1L;

    private final String project;
    private final String subscription;

    private SubscriptionDestination(String project, String subscription) {
        this.project = project;
        this.subscription = subscription;
    }

    /**
     * Names a subscription by project and id.
     *
     * @param project a project id, also domain-scoped as in {@code example.com:my-project}
     * @param subscription the id, not a path: 3 to 255 characters, the first a letter, the others
     *     letters, digits and {@code -._~%+}; not starting with {@code goog}
     * @throws IllegalArgumentException when one of them is not legal; names which
     */
    public static SubscriptionDestination of(String project, String subscription) {
        return new SubscriptionDestination(
                ResourceName.checkProject(project),
                ResourceName.checkId(ResourceName.Kind.SUBSCRIPTION, subscription));
    }

    /**
     * Names a subscription by its path, {@code projects/<project>/subscriptions/<id>}.
     *
     * @throws IllegalArgumentException when it is not such a path
     */
    public static SubscriptionDestination parse(String path) {
        String[] parts = ResourceName.parse(ResourceName.Kind.SUBSCRIPTION, path);
        return new SubscriptionDestination(parts[0], parts[1]);
    }

    /** The project. */
    public String project() {
        return project;
    }

    /** The id within the project. */
    public String subscription() {
        return subscription;
    }

    /** {@code projects/<project>/subscriptions/<id>}. */
    public String path() {
        return "projects/" + project + "/subscriptions/" + subscription;
    }

    @Override
    public boolean equals(Object other) {
        if (this == other) {
            return true;
        }
        if (!(other instanceof SubscriptionDestination)) {
            return false;
        }
        SubscriptionDestination that = (SubscriptionDestination) other;
        return project.equals(that.project) && subscription.equals(that.subscription);
    }

    @Override
    public int hashCode() {
        return 31 * project.hashCode() + subscription.hashCode();
    }

    /** The path. */
    @Override
    public String toString() {
        return path();
    }
}

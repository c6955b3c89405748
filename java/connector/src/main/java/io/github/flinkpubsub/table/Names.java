package io.github.flinkpubsub.table;

import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;

/** Topics and subscriptions as a table names them: an id in the table's project, or a path. */
final class Names {

    private Names() {}

    /** The project as it is; names of topics have the one place that checks it. */
    static String project(String project) {
        return TopicDestination.of(project, "any").project();
    }

    static TopicDestination topic(String project, String name) {
        return name.indexOf('/') < 0
                ? TopicDestination.of(project, name)
                : TopicDestination.parse(name);
    }

    static SubscriptionDestination subscription(String project, String name) {
        return name.indexOf('/') < 0
                ? SubscriptionDestination.of(project, name)
                : SubscriptionDestination.parse(name);
    }
}

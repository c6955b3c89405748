package io.github.flinkpubsub.sink;

import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.PubSubException.Status;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.nativebridge.Admin;
import io.github.flinkpubsub.nativebridge.NativeAdmin;
import io.github.flinkpubsub.nativebridge.NativeOptions;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** Looks for the topics of a sink. */
final class TopicCheck {

    private TopicCheck() {}

    static void check(SinkConfig<?> config, List<TopicDestination> more) throws IOException {
        Set<TopicDestination> topics = new LinkedHashSet<>(more);
        if (config.destination() instanceof PubSubSinkBuilder.OneTopic) {
            topics.add(((PubSubSinkBuilder.OneTopic<?>) config.destination()).topic());
        }
        if (config.failedMessageHandler() instanceof DeadLetter) {
            topics.add(((DeadLetter) config.failedMessageHandler()).topic());
        }
        NativeOptions options = new NativeOptions();
        config.connection().addTo(options);
        List<String> problems = new ArrayList<>();
        PubSubException first = null;
        try (Admin admin = NativeAdmin.open(options)) {
            for (TopicDestination topic : topics) {
                try {
                    admin.describeTopic(topic.path());
                } catch (PubSubException e) {
                    first = first == null ? e : first;
                    problems.add(
                            topic
                                    + (e.status() == Status.NOT_FOUND
                                            ? " does not exist"
                                            : " cannot be looked at: " + e.getMessage()));
                }
            }
        }
        if (first != null) {
            throw new PubSubException(
                    first.status(), first.resource(), String.join("\n  ", problems), first);
        }
    }
}

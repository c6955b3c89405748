package io.github.flinkpubsub.sink.writer;

import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.nativebridge.Publisher;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

import javax.annotation.Nullable;

/** The native numbers of topics, and back. A writer with one topic never gets to the map. */
final class Topics {

    private final Publisher publisher;
    private final Map<TopicDestination, Integer> numbers = new HashMap<>();
    private final Map<Integer, TopicDestination> destinations = new HashMap<>();
    @Nullable private TopicDestination last;
    private int lastNumber;

    Topics(Publisher publisher) {
        this.publisher = publisher;
    }

    int number(TopicDestination topic) throws IOException {
        if (topic == last) {
            return lastNumber;
        }
        Integer known = numbers.get(topic);
        if (known == null) {
            known = publisher.topic(topic.path());
            numbers.put(topic, known);
            destinations.put(known, topic);
        }
        last = topic;
        lastNumber = known;
        return known;
    }

    TopicDestination destination(int number) {
        return destinations.get(number);
    }
}

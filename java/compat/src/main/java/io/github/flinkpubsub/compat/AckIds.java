package io.github.flinkpubsub.compat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The ids of emitted messages, by the checkpoint that seals them. */
final class AckIds {

    private final TreeMap<Long, List<String>> sealed = new TreeMap<>();
    private List<String> open = new ArrayList<>();

    void add(String id) {
        open.add(id);
    }

    void seal(long checkpointId) {
        if (!open.isEmpty()) {
            sealed.put(checkpointId, open);
            open = new ArrayList<>();
        }
    }

    /** Takes what is sealed under this checkpoint and those before it. */
    List<String> take(long checkpointId) {
        Map<Long, List<String>> done = sealed.headMap(checkpointId, true);
        List<String> ids = new ArrayList<>();
        done.values().forEach(ids::addAll);
        done.clear();
        return Collections.unmodifiableList(ids);
    }

    int size() {
        return open.size() + sealed.values().stream().mapToInt(List::size).sum();
    }
}

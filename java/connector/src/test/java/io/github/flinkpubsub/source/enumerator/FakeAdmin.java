package io.github.flinkpubsub.source.enumerator;

import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.PubSubException.Status;
import io.github.flinkpubsub.nativebridge.Admin;
import io.github.flinkpubsub.nativebridge.NativeOptions;

import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A service in memory that records the calls and fails where it is told to. */
final class FakeAdmin implements Admin {

    final List<String> calls = new ArrayList<>();
    final Map<String, Map<String, String>> subscriptions = new LinkedHashMap<>();

    /** What calls fail with, by {@code method name}. */
    final Map<String, Status> failures = new HashMap<>();

    /** The same, for the first such call alone. */
    final Map<String, Status> failuresOnce = new HashMap<>();

    boolean closed;

    /** Adds a subscription with the service's defaults, but for these settings. */
    FakeAdmin with(String name, String... settings) {
        Map<String, String> all = new LinkedHashMap<>();
        all.put("topic", "projects/p/topics/top");
        all.put("ack-deadline-seconds", "10");
        all.put("ordering", "false");
        all.put("exactly-once", "false");
        all.put("retain-acked-messages", "false");
        all.put("detached", "false");
        for (int i = 0; i < settings.length; i += 2) {
            all.put(settings[i], settings[i + 1]);
        }
        subscriptions.put(name, all);
        return this;
    }

    private void call(String method, String name, String rest) throws PubSubException {
        String id = name.substring(name.lastIndexOf('/') + 1).replaceFirst("^sub-", "");
        String key = method + " " + id;
        calls.add(key + rest);
        Status once = failuresOnce.remove(key);
        Status failure = once != null ? once : failures.get(key);
        if (failure != null) {
            throw new PubSubException(failure, name, "told to fail");
        }
    }

    @Override
    public Map<String, String> describeSubscription(String name) throws IOException {
        call("describe", name, "");
        if (!subscriptions.containsKey(name)) {
            throw new PubSubException(Status.NOT_FOUND, name, "no such subscription");
        }
        return subscriptions.get(name);
    }

    @Override
    public boolean createSubscription(String name, NativeOptions settings) throws IOException {
        call("create", name, " " + settings.asMap());
        if (subscriptions.containsKey(name)) {
            return false;
        }
        with(name);
        subscriptions.get(name).putAll(settings.asMap());
        return true;
    }

    @Override
    public boolean deleteSubscription(String name) throws IOException {
        call("delete", name, "");
        return subscriptions.remove(name) != null;
    }

    @Override
    public void seek(String name, Instant time) throws IOException {
        call("seek", name, " " + time);
    }

    @Override
    public void seekToSnapshot(String name, String snapshot) throws IOException {
        call("seek", name, " " + snapshot);
    }

    @Override
    public Map<String, String> describeTopic(String name) throws IOException {
        call("describeTopic", name, "");
        return Map.of();
    }

    @Override
    public void close() {
        closed = true;
    }
}

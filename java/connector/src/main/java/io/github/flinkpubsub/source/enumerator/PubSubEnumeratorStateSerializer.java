package io.github.flinkpubsub.source.enumerator;

import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.TopicDestination;

import org.apache.flink.annotation.Internal;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/**
 * Version 2: the number of subscriptions (int), the path of each (UTF); the number of the job's own
 * subscriptions (int), topic and subscription of each (paths, UTF). Version 1 ends before those.
 */
@Internal
public final class PubSubEnumeratorStateSerializer
        implements SimpleVersionedSerializer<PubSubEnumeratorState> {

    private static final int VERSION = 2;

    @Override
    public int getVersion() {
        return VERSION;
    }

    @Override
    public byte[] serialize(PubSubEnumeratorState state) throws IOException {
        DataOutputSerializer out = new DataOutputSerializer(256);
        out.writeInt(state.subscriptions().size());
        for (SubscriptionDestination subscription : state.subscriptions()) {
            out.writeUTF(subscription.path());
        }
        out.writeInt(state.ownSubscriptions().size());
        for (Map.Entry<TopicDestination, SubscriptionDestination> own :
                state.ownSubscriptions().entrySet()) {
            out.writeUTF(own.getKey().path());
            out.writeUTF(own.getValue().path());
        }
        return out.getCopyOfBuffer();
    }

    @Override
    public PubSubEnumeratorState deserialize(int version, byte[] serialized) throws IOException {
        if (version < 1 || version > VERSION) {
            throw new IOException(
                    "a Pub/Sub source's state of version " + version + " is not known");
        }
        DataInputDeserializer in = new DataInputDeserializer(serialized);
        Set<SubscriptionDestination> subscriptions = new LinkedHashSet<>();
        for (int left = in.readInt(); left > 0; left--) {
            subscriptions.add(SubscriptionDestination.parse(in.readUTF()));
        }
        Map<TopicDestination, SubscriptionDestination> own = new LinkedHashMap<>();
        for (int left = version == 1 ? 0 : in.readInt(); left > 0; left--) {
            own.put(
                    TopicDestination.parse(in.readUTF()),
                    SubscriptionDestination.parse(in.readUTF()));
        }
        return new PubSubEnumeratorState(subscriptions, own);
    }
}

package io.github.flinkpubsub.source.enumerator;

import io.github.flinkpubsub.SubscriptionDestination;

import org.apache.flink.annotation.Internal;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;

import java.io.IOException;
import java.util.LinkedHashSet;
import java.util.Set;

/** Version 1: the number of subscriptions (int), the path of each (UTF). */
@Internal
public final class PubSubEnumeratorStateSerializer
        implements SimpleVersionedSerializer<PubSubEnumeratorState> {

    private static final int VERSION = 1;

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
        return out.getCopyOfBuffer();
    }

    @Override
    public PubSubEnumeratorState deserialize(int version, byte[] serialized) throws IOException {
        if (version != VERSION) {
            throw new IOException(
                    "a Pub/Sub source's state of version " + version + " is not known");
        }
        DataInputDeserializer in = new DataInputDeserializer(serialized);
        Set<SubscriptionDestination> subscriptions = new LinkedHashSet<>();
        for (int left = in.readInt(); left > 0; left--) {
            subscriptions.add(SubscriptionDestination.parse(in.readUTF()));
        }
        return new PubSubEnumeratorState(subscriptions);
    }
}

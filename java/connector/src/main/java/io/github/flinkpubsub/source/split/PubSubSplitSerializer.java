package io.github.flinkpubsub.source.split;

import io.github.flinkpubsub.SubscriptionDestination;

import org.apache.flink.annotation.Internal;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;

import java.io.IOException;

/** Version 1: the subscription's path (UTF), the index (int). */
@Internal
public final class PubSubSplitSerializer implements SimpleVersionedSerializer<PubSubSplit> {

    private static final int VERSION = 1;

    @Override
    public int getVersion() {
        return VERSION;
    }

    @Override
    public byte[] serialize(PubSubSplit split) throws IOException {
        DataOutputSerializer out = new DataOutputSerializer(64);
        out.writeUTF(split.subscription().path());
        out.writeInt(split.index());
        return out.getCopyOfBuffer();
    }

    @Override
    public PubSubSplit deserialize(int version, byte[] serialized) throws IOException {
        if (version != VERSION) {
            throw new IOException("a Pub/Sub split of version " + version + " is not known");
        }
        DataInputDeserializer in = new DataInputDeserializer(serialized);
        return new PubSubSplit(SubscriptionDestination.parse(in.readUTF()), in.readInt());
    }
}

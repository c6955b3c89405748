package io.github.flinkpubsub.source;

import io.github.flinkpubsub.PubSubDeserializationSchema;
import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.source.enumerator.PubSubEnumerator;
import io.github.flinkpubsub.source.enumerator.PubSubEnumeratorState;
import io.github.flinkpubsub.source.enumerator.PubSubEnumeratorStateSerializer;
import io.github.flinkpubsub.source.reader.PubSubSourceReader;
import io.github.flinkpubsub.source.split.PubSubSplit;
import io.github.flinkpubsub.source.split.PubSubSplitSerializer;

import org.apache.flink.annotation.Internal;
import org.apache.flink.annotation.PublicEvolving;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.java.typeutils.ResultTypeQueryable;
import org.apache.flink.core.io.SimpleVersionedSerializer;

import java.io.IOException;

/**
 * Reads Pub/Sub subscriptions. A message is acknowledged when a checkpoint that holds its effects
 * has completed, so every message arrives at least once and checkpointing must be enabled. The
 * records' timestamp is the publish time, unless an attribute holds it.
 *
 * @param <T> the records' type
 */
@PublicEvolving
public final class PubSubSource<T>
        implements Source<T, PubSubSplit, PubSubEnumeratorState>, ResultTypeQueryable<T> {

    private static final long serialVersionUID = 1L;

    private final SourceConfig config;
    private final PubSubDeserializationSchema<T> deserializer;

    PubSubSource(SourceConfig config, PubSubDeserializationSchema<T> deserializer) {
        this.config = config;
        this.deserializer = deserializer;
    }

    /** A builder; subscription and deserializer are required. */
    public static <T> PubSubSourceBuilder<T> builder() {
        return new PubSubSourceBuilder<>();
    }

    /**
     * Checks from here, before the job is submitted, what the job itself checks when it starts:
     * that its subscriptions exist, or the topics of those that it would create, and suit its
     * settings. Nothing is created or moved. Uses the credentials and files of this machine, and
     * blocks for at most 20 s for each.
     *
     * @throws PubSubException with every problem that was found
     */
    public void validate() throws IOException {
        PubSubEnumerator.validate(config);
    }

    /**
     * This source for a job in batch execution, so that it acknowledges at its end also on Flink
     * 1.20, which does not tell sources about it. Only for who knows, such as SQL's planner.
     */
    @Internal
    public PubSubSource<T> inBatchExecution() {
        return new PubSubSource<>(config.withBatchExecution(), deserializer);
    }

    @Override
    public Boundedness getBoundedness() {
        return config.stopCondition() == null
                ? Boundedness.CONTINUOUS_UNBOUNDED
                : Boundedness.BOUNDED;
    }

    @Override
    public SourceReader<T, PubSubSplit> createReader(SourceReaderContext context) throws Exception {
        return PubSubSourceReader.create(config, deserializer, context);
    }

    @Override
    public SplitEnumerator<PubSubSplit, PubSubEnumeratorState> createEnumerator(
            SplitEnumeratorContext<PubSubSplit> context) {
        return new PubSubEnumerator(context, config, null);
    }

    @Override
    public SplitEnumerator<PubSubSplit, PubSubEnumeratorState> restoreEnumerator(
            SplitEnumeratorContext<PubSubSplit> context, PubSubEnumeratorState state) {
        return new PubSubEnumerator(context, config, state);
    }

    @Override
    public SimpleVersionedSerializer<PubSubSplit> getSplitSerializer() {
        return new PubSubSplitSerializer();
    }

    @Override
    public SimpleVersionedSerializer<PubSubEnumeratorState> getEnumeratorCheckpointSerializer() {
        return new PubSubEnumeratorStateSerializer();
    }

    @Override
    public TypeInformation<T> getProducedType() {
        return deserializer.getProducedType();
    }
}

package io.github.flinkpubsub.compat;

import io.github.flinkpubsub.source.enumerator.PubSubEnumeratorState;
import io.github.flinkpubsub.source.split.PubSubSplit;

import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;

import java.io.Serializable;

import javax.annotation.Nullable;

/** What reads behind a {@link PubSubSource}. */
interface Delegate<T> extends Serializable {

    SourceReader<T, PubSubSplit> createReader(SourceReaderContext context) throws Exception;

    /**
     * @param state null at the first start
     */
    SplitEnumerator<PubSubSplit, PubSubEnumeratorState> createEnumerator(
            SplitEnumeratorContext<PubSubSplit> context, @Nullable PubSubEnumeratorState state)
            throws Exception;
}

package io.github.flinkpubsub.compat;

import io.github.flinkpubsub.source.PubSubSource;
import io.github.flinkpubsub.source.enumerator.PubSubEnumeratorState;
import io.github.flinkpubsub.source.split.PubSubSplit;

import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;

import javax.annotation.Nullable;

/** Reads with the native client. */
final class NativeDelegate<T> implements Delegate<T> {

    private static final long serialVersionUID = 1L;

    private final PubSubSource<T> source;

    NativeDelegate(PubSubSource<T> source) {
        this.source = source;
    }

    @Override
    public SourceReader<T, PubSubSplit> createReader(SourceReaderContext context) throws Exception {
        return source.createReader(context);
    }

    @Override
    public SplitEnumerator<PubSubSplit, PubSubEnumeratorState> createEnumerator(
            SplitEnumeratorContext<PubSubSplit> context, @Nullable PubSubEnumeratorState state) {
        return state == null
                ? source.createEnumerator(context)
                : source.restoreEnumerator(context, state);
    }
}

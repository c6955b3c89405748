package io.github.flinkpubsub.source.reader;

import io.github.flinkpubsub.nativebridge.NativeBatch;
import io.github.flinkpubsub.source.split.PubSubSplit;

import org.apache.flink.connector.base.source.reader.RecordsWithSplitIds;

import java.util.Collections;
import java.util.Set;

import javax.annotation.Nullable;

/**
 * A batch on its way from the fetcher to the task, which walks it with one view. When it has been
 * walked, the task's thread gives it back to the pool.
 */
final class MessageBatch implements RecordsWithSplitIds<MessageView> {

    private final NativeBatch messages;
    private final MessageView view;
    private final BatchPool pool;
    private final EmissionProgress progress;
    private String splitId;
    private boolean splitTaken;
    private int position;

    MessageBatch(NativeBatch messages, BatchPool pool, EmissionProgress progress) {
        this.messages = messages;
        this.view = new MessageView(messages);
        this.pool = pool;
        this.progress = progress;
    }

    /** Where a fetch puts its messages. */
    NativeBatch messages() {
        return messages;
    }

    /** Starts a walk over what has been fetched from a split. */
    void start(PubSubSplit split) {
        splitId = split.splitId();
        view.start(split.subscription());
        splitTaken = false;
        position = 0;
    }

    @Override
    @Nullable
    public String nextSplit() {
        if (splitTaken) {
            return null;
        }
        splitTaken = true;
        return splitId;
    }

    @Override
    @Nullable
    public MessageView nextRecordFromSplit() {
        while (position < messages.count()) {
            int message = position++;
            if (!messages.skip(message)) {
                view.moveTo(message);
                return view;
            }
        }
        return null;
    }

    @Override
    public Set<String> finishedSplits() {
        return Collections.emptySet();
    }

    /** Called when all has been emitted: also what was skipped at the end is done with then. */
    @Override
    public void recycle() {
        progress.advance(messages.split(), messages.first() + messages.count());
        pool.put(this);
    }
}

package io.github.flinkpubsub.source.reader;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.source.split.PubSubSplit;

import org.junit.jupiter.api.Test;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

class MessageBatchTest {

    private static final int SKIP = 256;

    private static final PubSubSplit SPLIT =
            new PubSubSplit(SubscriptionDestination.of("p", "sub"), 0);

    private final EmissionProgress progress = new EmissionProgress();
    private final BatchPool pool = new BatchPool(10, progress);

    private static List<PubsubMessage> messages(String... payloads) {
        List<PubsubMessage> messages = new ArrayList<>();
        for (String payload : payloads) {
            messages.add(
                    PubsubMessage.newBuilder().setData(ByteString.copyFromUtf8(payload)).build());
        }
        return messages;
    }

    private static List<String> walk(MessageBatch batch) {
        assertThat(batch.nextSplit()).isEqualTo("projects/p/subscriptions/sub#0");
        List<String> payloads = new ArrayList<>();
        MessageView view;
        while ((view = batch.nextRecordFromSplit()) != null) {
            payloads.add(view.payloadText(StandardCharsets.UTF_8));
        }
        assertThat(batch.nextSplit()).isNull();
        assertThat(batch.finishedSplits()).isEmpty();
        return payloads;
    }

    @Test
    void skippedMessagesAreDoneWithoutBeingEmitted() {
        MessageBatch batch = pool.take();
        Batches.fill(
                batch.messages(),
                2,
                50,
                messages("a", "b", "c", "d"),
                new int[] {SKIP, 0, 0, SKIP});
        batch.start(SPLIT);
        assertThat(walk(batch)).containsExactly("b", "c");
        assertThat(progress.takeChanges().splits).isEmpty();
        batch.recycle();
        EmissionProgress.Changes changes = progress.takeChanges();
        assertThat(changes.splits).containsExactly(2);
        assertThat(changes.done).containsExactly(54);
    }

    @Test
    void aBatchIsUsedAgain() {
        MessageBatch first = pool.take();
        Batches.fill(first.messages(), 0, 0, messages("a", "b"));
        first.start(SPLIT);
        assertThat(walk(first)).containsExactly("a", "b");
        first.recycle();
        MessageBatch second = pool.take();
        assertThat(second).isSameAs(first);
        assertThat(pool.take()).isNotSameAs(first);
        Batches.fill(second.messages(), 0, 2, messages("c"));
        second.start(SPLIT);
        assertThat(walk(second)).containsExactly("c");
    }

    @Test
    void oneThatHasGrownLargeIsNotKept() {
        MessageBatch batch = pool.take();
        batch.messages().grow((4 << 20) + 1, 0);
        pool.put(batch);
        assertThat(pool.take()).isNotSameAs(batch);
    }
}

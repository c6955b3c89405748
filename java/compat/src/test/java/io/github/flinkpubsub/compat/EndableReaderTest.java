package io.github.flinkpubsub.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.source.split.PubSubSplit;

import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.core.io.InputStatus;
import org.junit.jupiter.api.Test;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;

class EndableReaderTest {

    private static final SubscriptionDestination SUBSCRIPTION =
            SubscriptionDestination.of("p", "sub");
    private static final PubSubSplit SPLIT = new PubSubSplit(SUBSCRIPTION, 0);

    private final List<Object> events = new ArrayList<>();
    private final Idle idle = new Idle();

    private EndableReader<String> reader() throws Exception {
        EndAwareSchema<String> schema =
                new EndAwareSchema<>(new PayloadSchema<>(new SimpleStringSchema()));
        schema.open(null);
        SourceReaderContext context =
                (SourceReaderContext)
                        Proxy.newProxyInstance(
                                getClass().getClassLoader(),
                                new Class<?>[] {SourceReaderContext.class},
                                (proxy, method, arguments) -> {
                                    assertThat(method.getName())
                                            .isEqualTo("sendSourceEventToCoordinator");
                                    events.add(arguments[0]);
                                    return null;
                                });
        return new EndableReader<>(idle, schema, SUBSCRIPTION, context);
    }

    @Test
    void theEndOfAnotherSubtaskWakesAndEndsIt() throws Exception {
        EndableReader<String> reader = reader();
        assertThat(reader.pollNext(null)).isEqualTo(InputStatus.NOTHING_AVAILABLE);
        CompletableFuture<Void> available = reader.isAvailable();
        assertThat(reader.isAvailable()).isSameAs(available).isNotDone();
        reader.handleSourceEvents(new EndOfStreamEvent());
        assertThat(available).isDone();
        assertThat(reader.isAvailable()).isDone();
        assertThat(reader.pollNext(null)).isEqualTo(InputStatus.END_OF_INPUT);
        assertThat(events).isEmpty();
    }

    @Test
    void messagesWakeIt() throws Exception {
        EndableReader<String> reader = reader();
        CompletableFuture<Void> available = reader.isAvailable();
        idle.available.complete(null);
        assertThat(available).isDone();
        idle.available = new CompletableFuture<>();
        assertThat(reader.isAvailable()).isNotDone();
    }

    @Test
    void aRestoredJobEndsWhenItHadEnded() throws Exception {
        EndableReader<String> ended = reader();
        ended.addSplits(List.of(SPLIT));
        assertThat(idle.splits).containsExactly(SPLIT);
        assertThat(ended.snapshotState(1)).isEmpty();
        ended.handleSourceEvents(new EndOfStreamEvent());
        List<PubSubSplit> state = ended.snapshotState(2);
        assertThat(state).hasSize(1);

        EndableReader<String> restored = reader();
        restored.addSplits(state);
        assertThat(restored.pollNext(null)).isEqualTo(InputStatus.END_OF_INPUT);
        assertThat(events).hasSize(1).first().isInstanceOf(EndOfStreamEvent.class);
        restored.addSplits(List.of(SPLIT));
        assertThat(idle.splits).containsExactly(SPLIT);
    }

    /** A reader without messages. */
    private static final class Idle implements SourceReader<String, PubSubSplit> {

        private final List<PubSubSplit> splits = new ArrayList<>();
        private CompletableFuture<Void> available = new CompletableFuture<>();

        @Override
        public void start() {}

        @Override
        public InputStatus pollNext(ReaderOutput<String> output) {
            return InputStatus.NOTHING_AVAILABLE;
        }

        @Override
        public List<PubSubSplit> snapshotState(long checkpointId) {
            return Collections.emptyList();
        }

        @Override
        public CompletableFuture<Void> isAvailable() {
            return available;
        }

        @Override
        public void addSplits(List<PubSubSplit> more) {
            splits.addAll(more);
        }

        @Override
        public void notifyNoMoreSplits() {}

        @Override
        public void close() {}
    }
}

package io.github.flinkpubsub.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.Timestamp;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.SeekRequest;

import io.github.flinkpubsub.PubSubSerializationSchema;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.sink.FailedMessage;
import io.github.flinkpubsub.sink.FailedMessageHandler;
import io.github.flinkpubsub.sink.PubSubPublisherOptions;
import io.github.flinkpubsub.sink.PubSubSink;
import io.github.flinkpubsub.sink.TopicCreateOptions;
import io.github.flinkpubsub.testing.Fault;
import io.github.flinkpubsub.testing.FaultAction;
import io.github.flinkpubsub.testing.FaultState;
import io.github.flinkpubsub.testing.PubSubEmulator;
import io.grpc.Status.Code;

import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

import javax.annotation.Nullable;

/** Many messages to many topics while everything goes wrong, in an order that a seed decides. */
class SinkSoakIT {

    private static final long SEED = 20_240_506;
    private static final int PARALLELISM = 4;
    private static final int TOPICS = 50;

    /** These are there only once the sink has created them. */
    private static final int MISSING_TOPICS = 5;

    private static final int KEYS = 500;
    private static final int FAULTS = 24;
    private static final int TASK_FAILURES = 3;

    /** Every so manieth message is refused by the service. */
    private static final int POISON = 499;

    private static final Set<Integer> rejected = Collections.synchronizedSet(new HashSet<>());

    /** By attempt that failed: the last number before its last completed checkpoint. */
    private static final Map<Integer, Long> covered = new ConcurrentHashMap<>();

    private static final List<Long> memory = Collections.synchronizedList(new ArrayList<>());

    private PubSubEmulator server;

    @BeforeEach
    void startServer() throws Exception {
        rejected.clear();
        covered.clear();
        memory.clear();
        server = PubSubEmulator.start();
        for (int i = MISSING_TOPICS; i < TOPICS; i++) {
            server.createTopic(topic(i));
            server.createSubscription(subscription(i), topic(i));
        }
    }

    @AfterEach
    void stopServer() {
        server.close();
    }

    @Test
    @Tag("integration")
    @Timeout(value = 3, unit = TimeUnit.MINUTES)
    void nothingIsLostInTheShortForm() throws Exception {
        run(30_000);
    }

    @Test
    @Tag("soak")
    @Timeout(value = 60, unit = TimeUnit.MINUTES)
    void nothingIsLostInTheLongFormAndMemoryIsFlat() throws Exception {
        run(Integer.getInteger("pubsub.soak.messages", 1_000_000));
        List<Long> later = memory.subList(memory.size() / 3, memory.size());
        long growth = later.get(later.size() - 1) - later.get(0);
        System.out.println("memory beside the heap, in MiB, every 2 % of the records: " + memory);
        assertThat(growth).as("MiB").isLessThan(64);
    }

    private void run(int messages) throws Exception {
        addFaults(messages);
        Configuration configuration = new Configuration();
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "fixed-delay");
        configuration.set(
                RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_ATTEMPTS, TASK_FAILURES);
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_DELAY, Duration.ZERO);
        // Small buffers, so that little is on its way between source and sink.
        configuration.setString("taskmanager.memory.segment-size", "4kb");
        configuration.setString("taskmanager.network.memory.buffers-per-channel", "1");
        configuration.setString("taskmanager.network.memory.floating-buffers-per-gate", "1");
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.createLocalEnvironment(PARALLELISM, configuration);
        env.enableCheckpointing(50);
        env.fromSequence(0, messages - 1)
                .setParallelism(1)
                .map(new Attempt(messages))
                .setParallelism(1)
                .keyBy(text -> number(text) % KEYS)
                .sinkTo(sink());
        env.execute();
        for (FaultState fault : server.control().faults()) {
            assertThat(fault.hits()).as(fault.id()).isPositive();
        }
        check(messages);
    }

    /** One rule refuses the poison, the others come once or twice and somewhere. */
    private void addFaults(int messages) {
        // First, as a lost answer would let the poison in.
        server.control()
                .addFault(
                        Fault.on("Publish", FaultAction.status(Code.INVALID_ARGUMENT, "poison"))
                                .id("poison")
                                .whenDataContains("poison"));
        Random random = new Random(SEED);
        List<FaultAction> actions =
                List.of(
                        FaultAction.status(Code.UNAVAILABLE, "away"),
                        FaultAction.status(Code.DEADLINE_EXCEEDED, "too slow"),
                        FaultAction.goAway(Duration.ofMillis(20)),
                        FaultAction.drop(),
                        FaultAction.rstStream(7),
                        FaultAction.delay(Duration.ofMillis(100)));
        for (int i = 0; i < FAULTS; i++) {
            Fault fault =
                    Fault.on("Publish", actions.get(i % actions.size()))
                            .id("fault-" + i)
                            .skip(random.nextInt(messages / 60))
                            .times(1 + random.nextInt(2));
            server.control().addFault(random.nextInt(4) == 0 ? fault.afterEffect() : fault);
        }
    }

    private PubSubSink<String> sink() {
        return PubSubSink.<String>builder()
                .destinationResolver(
                        (text, context) -> TopicDestination.parse(topic(number(text) % TOPICS)))
                .serializer(
                        PubSubSerializationSchema.payload(new SimpleStringSchema())
                                .withOrderingKey(text -> "k" + number(text) % KEYS))
                .topicCreateOptions(
                        TopicCreateOptions.builder().messageRetention(Duration.ofHours(1)).build())
                .failedMessageHandler(new Collect())
                .publisherOptions(
                        PubSubPublisherOptions.builder()
                                .enableMessageOrdering(true)
                                .batchElementCountThreshold(20)
                                .batchDelayThreshold(Duration.ofMillis(2))
                                .maxInFlightMessages(200)
                                .retryInitialDelay(Duration.ofMillis(5))
                                .retryMaxDelay(Duration.ofMillis(50))
                                .recoveryInitialBackoff(Duration.ofMillis(5))
                                .recoveryMaxBackoff(Duration.ofMillis(50))
                                .build())
                .emulatorEndpoint(server.endpoint())
                .build();
    }

    private void check(int messages) {
        BitSet arrived = new BitSet(messages);
        int[] attempts = new int[TASK_FAILURES + 1];
        int[] first = new int[TASK_FAILURES + 1];
        Arrays.fill(first, messages);
        for (int topic = 0; topic < TOPICS; topic++) {
            // Numbers by key and attempt; a message whose answer was lost may be there twice.
            Map<String, Integer> last = new HashMap<>();
            BitSet[] seen = new BitSet[TASK_FAILURES + 1];
            for (PubsubMessage message : published(topic)) {
                String text = message.getData().toStringUtf8();
                int number = number(text);
                int attempt = Integer.parseInt(text.split(":")[1]);
                assertThat(number % TOPICS).isEqualTo(topic);
                assertThat(message.getOrderingKey()).isEqualTo("k" + number % KEYS);
                assertThat(text).doesNotContain("poison");
                arrived.set(number);
                attempts[attempt]++;
                first[attempt] = Math.min(first[attempt], number);
                seen[attempt] = seen[attempt] == null ? new BitSet() : seen[attempt];
                if (!seen[attempt].get(number)) {
                    seen[attempt].set(number);
                    Integer before = last.put(message.getOrderingKey() + ":" + attempt, number);
                    assertThat(before == null ? -1 : before)
                            .as("the number before " + text)
                            .isLessThan(number);
                }
            }
        }
        Set<Integer> poison = new HashSet<>();
        for (int i = 0; i < messages; i += POISON) {
            poison.add(i);
        }
        assertThat(rejected).isEqualTo(poison);
        arrived.flip(0, messages);
        assertThat(arrived.stream().boxed().collect(Collectors.toSet())).isEqualTo(poison);
        assertThat(attempts).as("messages of each attempt").doesNotContain(0);
        for (int attempt = 1; attempt <= TASK_FAILURES; attempt++) {
            assertThat((long) first[attempt])
                    .as("the first number of attempt " + attempt)
                    .isGreaterThan(covered.get(attempt - 1));
        }
    }

    /** In the order of publishing. */
    private List<PubsubMessage> published(int topic) {
        if (topic < MISSING_TOPICS) {
            server.createSubscription(subscription(topic), topic(topic));
            server.subscriber()
                    .seek(
                            SeekRequest.newBuilder()
                                    .setSubscription(subscription(topic))
                                    .setTime(Timestamp.newBuilder())
                                    .build());
        }
        List<PubsubMessage> all = new ArrayList<>();
        List<PubsubMessage> some;
        while (!(some = server.pull(subscription(topic), 1_000)).isEmpty()) {
            all.addAll(some);
        }
        all.sort((a, b) -> Long.compare(id(a), id(b)));
        return all;
    }

    private static long id(PubsubMessage message) {
        return Long.parseLong(message.getMessageId());
    }

    private static String topic(int topic) {
        return "projects/p/topics/topic-" + topic;
    }

    private static String subscription(int topic) {
        return "projects/p/subscriptions/topic-" + topic + "-sub";
    }

    private static int number(String text) {
        return Integer.parseInt(text.substring(0, text.indexOf(':')));
    }

    /**
     * "number:attempt:", and the poison; fails in each attempt but the last, after a checkpoint.
     */
    private static final class Attempt extends RichMapFunction<Long, String>
            implements CheckpointedFunction, CheckpointListener {

        private static final long serialVersionUID = 1L;

        private final int messages;
        private final Map<Long, Long> numbers = new HashMap<>();

        private long last = -1;

        @Nullable private Long checkpointed;

        Attempt(int messages) {
            this.messages = messages;
        }

        @Override
        public void initializeState(FunctionInitializationContext context) {}

        @Override
        public void snapshotState(FunctionSnapshotContext context) {
            numbers.put(context.getCheckpointId(), last);
        }

        @Override
        public void notifyCheckpointComplete(long checkpoint) {
            checkpointed = numbers.get(checkpoint);
        }

        @Override
        public String map(Long number) throws IOException {
            int attempt = getRuntimeContext().getTaskInfo().getAttemptNumber();
            if (checkpointed != null
                    && attempt < TASK_FAILURES
                    && number >= (attempt + 1L) * messages / (TASK_FAILURES + 1)) {
                covered.put(attempt, checkpointed);
                throw new IllegalStateException("a failure on purpose");
            }
            last = number;
            if (number % (messages / 50) == 0) {
                memory.add(ProcessMemory.besideTheHeap());
            }
            return number + ":" + attempt + ":" + (number % POISON == 0 ? "poison" : "");
        }
    }

    /** Drops, and remembers what. */
    private static final class Collect implements FailedMessageHandler {

        private static final long serialVersionUID = 1L;

        @Override
        public void handle(FailedMessage message, Context context) {
            rejected.add(number(new String(message.payload(), StandardCharsets.UTF_8)));
        }
    }
}

package io.github.flinkpubsub;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.operators.KeyedProcessOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.util.KeyedOneInputStreamOperatorTestHarness;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;

class DeduplicationTest {

    private static KeyedOneInputStreamOperatorTestHarness<String, Tuple2<String, String>, String>
            operator(OperatorSubtaskState state) throws Exception {
        KeyedOneInputStreamOperatorTestHarness<String, Tuple2<String, String>, String> harness =
                new KeyedOneInputStreamOperatorTestHarness<>(
                        new KeyedProcessOperator<>(
                                new Deduplication.FirstOfId<>(Deduplication.DEFAULT_WINDOW)),
                        record -> record.f0,
                        Types.STRING);
        harness.setup();
        if (state != null) {
            harness.initializeState(state);
        }
        harness.open();
        return harness;
    }

    private static List<String> output(
            KeyedOneInputStreamOperatorTestHarness<String, Tuple2<String, String>, String>
                    harness) {
        return harness.extractOutputStreamRecords().stream()
                .map(record -> record.getValue() + "@" + record.getTimestamp())
                .collect(Collectors.toList());
    }

    private static void put(
            KeyedOneInputStreamOperatorTestHarness<String, Tuple2<String, String>, String> harness,
            String id,
            String value,
            long timestamp)
            throws Exception {
        harness.processElement(new StreamRecord<>(Tuple2.of(id, value), timestamp));
    }

    @Test
    void theFirstOfAnIdWithinTheWindowPasses() throws Exception {
        long window = Duration.ofMinutes(10).toMillis();
        try (KeyedOneInputStreamOperatorTestHarness<String, Tuple2<String, String>, String>
                harness = operator(null)) {
            harness.setStateTtlProcessingTime(1_000);
            put(harness, "x", "a", 1);
            put(harness, "y", "b", 2);
            put(harness, "x", "c", 3);
            harness.setStateTtlProcessingTime(1_000 + window - 1);
            put(harness, "x", "d", 4);
            // A duplicate does not extend the window.
            harness.setStateTtlProcessingTime(1_000 + window);
            put(harness, "x", "e", 5);
            put(harness, "x", "f", 6);
            assertThat(output(harness)).containsExactly("a@1", "b@2", "e@5");
        }
    }

    @Test
    void idsSurviveARestore() throws Exception {
        OperatorSubtaskState state;
        try (KeyedOneInputStreamOperatorTestHarness<String, Tuple2<String, String>, String>
                harness = operator(null)) {
            put(harness, "x", "a", 1);
            state = harness.snapshot(1, 1);
        }
        try (KeyedOneInputStreamOperatorTestHarness<String, Tuple2<String, String>, String>
                harness = operator(state)) {
            put(harness, "x", "b", 2);
            put(harness, "y", "c", 3);
            assertThat(output(harness)).containsExactly("c@3");
        }
    }

    @Test
    void theResultHasTheRecordsType() {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        assertThat(Deduplication.byId(env.fromData(Tuple2.of("x", 1))).getType())
                .isEqualTo(Types.INT);
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> Deduplication.byId(env.fromData(Tuple2.of("x", 1)), Duration.ZERO))
                .withMessageContaining("window");
    }
}

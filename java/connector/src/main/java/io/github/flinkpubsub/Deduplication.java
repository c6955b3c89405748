package io.github.flinkpubsub;

import org.apache.flink.annotation.PublicEvolving;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.typeutils.TupleTypeInfo;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

import java.time.Duration;

/**
 * Drops records whose id has been seen before, in whatever subtask the earlier one arrived and
 * before whatever restore. Ids are remembered in keyed state for a window that starts with the
 * first record of an id and is not extended by its duplicates.
 *
 * <pre>{@code
 * DataStream<String> once =
 *         Deduplication.byId(
 *                 env.fromSource(
 *                         PubSubSource.<Tuple2<String, String>>builder()
 *                                 .subscription(subscription)
 *                                 .deserializer(
 *                                         PubSubDeserializationSchema.strings()
 *                                                 .withIdAttribute("id"))
 *                                 .build(),
 *                         WatermarkStrategy.noWatermarks(),
 *                         "in"));
 * }</pre>
 */
@PublicEvolving
public final class Deduplication {

    /** How long an id is remembered unless told otherwise: 10 minutes of processing time. */
    public static final Duration DEFAULT_WINDOW = Duration.ofMinutes(10);

    private Deduplication() {}

    /** Remembers ids for {@link #DEFAULT_WINDOW}. */
    public static <T> SingleOutputStreamOperator<T> byId(DataStream<Tuple2<String, T>> records) {
        return byId(records, DEFAULT_WINDOW);
    }

    /**
     * The first record of each id, with its timestamp.
     *
     * @param records with their ids, as {@link PubSubDeserializationSchema#withIdAttribute} reads
     *     them
     * @param window how long an id is remembered, in processing time; 1 ms to 365 days
     */
    public static <T> SingleOutputStreamOperator<T> byId(
            DataStream<Tuple2<String, T>> records, Duration window) {
        OptionChecks.within("window", window, Duration.ofMillis(1), Duration.ofDays(365));
        TypeInformation<T> type =
                ((TupleTypeInfo<Tuple2<String, T>>) records.getType()).getTypeAt(1);
        return records.keyBy(record -> record.f0, Types.STRING)
                .process(new FirstOfId<>(window), type)
                .name("drop duplicates");
    }

    /** Passes a record on when its key has no state, and gives it one. */
    static final class FirstOfId<T> extends KeyedProcessFunction<String, Tuple2<String, T>, T> {

        private static final long serialVersionUID = 1L;

        private final Duration window;
        private transient ValueState<Boolean> seen;

        FirstOfId(Duration window) {
            this.window = window;
        }

        @Override
        public void open(OpenContext context) {
            ValueStateDescriptor<Boolean> descriptor =
                    new ValueStateDescriptor<>("seen", Types.BOOLEAN);
            descriptor.enableTimeToLive(
                    StateTtlConfig.newBuilder(window)
                            .setUpdateType(StateTtlConfig.UpdateType.OnCreateAndWrite)
                            .setStateVisibility(StateTtlConfig.StateVisibility.NeverReturnExpired)
                            .build());
            seen = getRuntimeContext().getState(descriptor);
        }

        @Override
        public void processElement(Tuple2<String, T> record, Context context, Collector<T> out)
                throws Exception {
            if (seen.value() == null) {
                seen.update(Boolean.TRUE);
                out.collect(record.f1);
            }
        }
    }
}

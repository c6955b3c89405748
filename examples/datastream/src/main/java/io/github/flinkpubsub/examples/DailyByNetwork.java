package io.github.flinkpubsub.examples;

import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

import java.time.Instant;
import java.time.ZoneOffset;

/** Counts the earthquakes of a window and keeps the strongest. */
final class DailyByNetwork implements AggregateFunction<Earthquake, NetworkDay, NetworkDay> {
    private static final long serialVersionUID = 1L;

    @Override
    public NetworkDay createAccumulator() {
        NetworkDay empty = new NetworkDay();
        empty.strongest = Double.NEGATIVE_INFINITY;
        return empty;
    }

    @Override
    public NetworkDay add(Earthquake earthquake, NetworkDay day) {
        day.earthquakes++;
        if (earthquake.magnitude > day.strongest) {
            day.strongest = earthquake.magnitude;
            day.place = earthquake.place;
        }
        return day;
    }

    @Override
    public NetworkDay getResult(NetworkDay day) {
        return day;
    }

    @Override
    public NetworkDay merge(NetworkDay a, NetworkDay b) {
        NetworkDay merged = a.strongest >= b.strongest ? a : b;
        merged.earthquakes = a.earthquakes + b.earthquakes;
        return merged;
    }

    /** Adds the key and the day of the window. */
    static final class Label
            extends ProcessWindowFunction<NetworkDay, NetworkDay, String, TimeWindow> {
        private static final long serialVersionUID = 1L;

        @Override
        public void process(
                String network,
                Context context,
                Iterable<NetworkDay> days,
                Collector<NetworkDay> out) {
            NetworkDay day = days.iterator().next();
            day.network = network;
            day.day =
                    Instant.ofEpochMilli(context.window().getStart())
                            .atOffset(ZoneOffset.UTC)
                            .toLocalDate()
                            .toString();
            out.collect(day);
        }
    }
}

package io.github.flinkpubsub.examples;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;

/** Numbers the earthquakes of each network from 1 on, and makes alerts of them. */
final class NumberedAlerts extends RichMapFunction<Earthquake, Alert> {
    private static final long serialVersionUID = 1L;

    private transient ValueState<Integer> number;

    @Override
    public void open(OpenContext context) {
        number = getRuntimeContext().getState(new ValueStateDescriptor<>("number", Types.INT));
    }

    @Override
    public Alert map(Earthquake earthquake) throws Exception {
        Integer before = number.value();
        Alert alert = new Alert();
        alert.id = earthquake.id;
        alert.network = earthquake.network;
        alert.number = before == null ? 1 : before + 1;
        alert.magnitude = earthquake.magnitude;
        alert.place = earthquake.place;
        number.update(alert.number);
        return alert;
    }
}

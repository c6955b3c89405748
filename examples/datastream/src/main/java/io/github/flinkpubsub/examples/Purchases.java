package io.github.flinkpubsub.examples;

import io.github.flinkpubsub.PubSubSerializationSchema;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.sink.PubSubSink;
import io.github.flinkpubsub.sink.PubSubSinkBuilder;

import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.ParameterTool;

import java.util.Map;

/**
 * Publishes a few purchases: the product as the payload, the buyer and the time as attributes. The
 * same in SQL is in {@code examples/sql/purchases.sql}.
 */
public final class Purchases {

    private Purchases() {}

    /**
     * Arguments: {@code --topic projects/p/topics/top} and, for one, {@code --emulator host:port}.
     */
    public static void main(String[] args) throws Exception {
        ParameterTool parameters = ParameterTool.fromArgs(args);
        PubSubSinkBuilder<Purchase> sink =
                PubSubSink.<Purchase>builder()
                        .topic(TopicDestination.parse(parameters.getRequired("topic")))
                        .serializer(
                                PubSubSerializationSchema.strings(Purchase::getProduct)
                                        .withAttributes(Purchases::attributes));
        if (parameters.has("emulator")) {
            sink.emulatorEndpoint(parameters.get("emulator"));
        }
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.fromData(
                        new Purchase("Robert", "TV", 1_613_141_590_000L),
                        new Purchase("Maria", "Phone", 1_612_718_280_000L),
                        new Purchase("Juan", "Laptop", 1_611_618_000_000L),
                        new Purchase("Rebeca", "Video game", 1_610_000_000_000L))
                .sinkTo(sink.build());
        env.execute("Publish purchases");
    }

    private static Map<String, String> attributes(Purchase purchase) {
        return Map.of(
                "buyer", purchase.getBuyer(),
                "timestamp", Long.toString(purchase.getTimestamp()));
    }
}

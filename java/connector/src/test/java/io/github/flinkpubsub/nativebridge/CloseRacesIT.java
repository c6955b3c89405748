package io.github.flinkpubsub.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.flinkpubsub.testing.PubSubEmulator;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.concurrent.TimeUnit;

/** {@link CloseRaces} in a JVM that checks every call of the library into it. */
@Tag("library")
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class CloseRacesIT {

    private static final String TOPIC = "projects/p/topics/topic";
    private static final String SUBSCRIPTION = "projects/p/subscriptions/subscription";

    @Test
    void aThousandRoundsWithoutAWarningOrACrash() throws Exception {
        try (PubSubEmulator server = PubSubEmulator.start()) {
            server.createTopic(TOPIC);
            server.createSubscription(SUBSCRIPTION, TOPIC);
            ChildJvm.Ended ended =
                    new ChildJvm()
                            .option("-Xcheck:jni")
                            .run(CloseRaces.class, server.endpoint(), SUBSCRIPTION, TOPIC, "1000");
            assertThat(ended.output)
                    .contains("1000 rounds")
                    .doesNotContain("WARNING in native", "FATAL ERROR", "Exception");
            assertThat(ended.status).isZero();
        }
    }
}

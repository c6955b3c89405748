package io.github.flinkpubsub.testing;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.Status;

import org.junit.jupiter.api.Test;

import java.time.Duration;

class FaultTest {

    @Test
    void aRuleIsWrittenAsTheServerReadsIt() {
        Fault fault =
                Fault.on("Publish", FaultAction.status(Status.Code.UNAVAILABLE, "later"))
                        .id("f")
                        .resource("projects/p/topics/top*")
                        .skip(9)
                        .every(2)
                        .times(3)
                        .afterEffect()
                        .whenDataContains("poison")
                        .whenAttribute("k", "v")
                        .whenOrderingKey("A")
                        .whenBytesAtLeast(1000);
        assertThat(fault.json())
                .hasToString(
                        "{\"method\":\"Publish\",\"action\":{\"type\":\"status\","
                                + "\"code\":\"UNAVAILABLE\",\"message\":\"later\"},\"id\":\"f\","
                                + "\"resource\":\"projects/p/topics/top*\",\"skip\":9,\"every\":2,"
                                + "\"times\":3,\"after_effect\":true,"
                                + "\"match\":{\"data_contains\":\"poison\","
                                + "\"attribute\":{\"key\":\"k\",\"value\":\"v\"},"
                                + "\"ordering_key\":\"A\",\"min_bytes\":1000}}");
    }

    @Test
    void aGoAwayThatClosesNothingKeepsItsNull() {
        assertThat(FaultAction.goAwayAndGoOn().json())
                .hasToString("{\"type\":\"goaway\",\"close_after_ms\":null}");
        assertThat(FaultAction.goAway(Duration.ofMillis(5)).json())
                .hasToString("{\"type\":\"goaway\",\"close_after_ms\":5}");
    }

    @Test
    void queriesAreEncodedAndEmptyOnesLeftOut() {
        assertThat(ControlClient.path("/p", "a", "x/y z", "b", "", "c", null, "d", "1"))
                .isEqualTo("/p?a=x%2Fy+z&d=1");
        assertThat(ControlClient.path("/p", "a", "")).isEqualTo("/p");
    }
}

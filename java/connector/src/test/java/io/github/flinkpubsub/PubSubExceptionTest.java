package io.github.flinkpubsub;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.flinkpubsub.PubSubException.Status;

import org.junit.jupiter.api.Test;

class PubSubExceptionTest {

    @Test
    void statusByNumber() {
        assertThat(Status.fromCode(0)).isEqualTo(Status.OK);
        assertThat(Status.fromCode(5)).isEqualTo(Status.NOT_FOUND);
        assertThat(Status.fromCode(7)).isEqualTo(Status.PERMISSION_DENIED);
        assertThat(Status.fromCode(14)).isEqualTo(Status.UNAVAILABLE);
        assertThat(Status.fromCode(16)).isEqualTo(Status.UNAUTHENTICATED);
        assertThat(Status.fromCode(17)).isEqualTo(Status.UNKNOWN);
        assertThat(Status.fromCode(-1)).isEqualTo(Status.UNKNOWN);
    }

    @Test
    void messageHasStatusAndResource() {
        PubSubException e =
                new PubSubException(Status.NOT_FOUND, "projects/p/topics/top", "no such topic");
        assertThat(e).hasMessage("NOT_FOUND: no such topic [projects/p/topics/top]");
        assertThat(e.status()).isEqualTo(Status.NOT_FOUND);
        assertThat(e.resource()).isEqualTo("projects/p/topics/top");
        assertThat(
                        new PubSubException(
                                Status.NOT_FOUND,
                                "projects/p/topics/top",
                                "no projects/p/topics/top"))
                .hasMessage("NOT_FOUND: no projects/p/topics/top");
        assertThat(new PubSubException(Status.INTERNAL, null, "broken"))
                .hasMessage("INTERNAL: broken");
        assertThat(new PubSubException(Status.UNAVAILABLE, null, "UNAVAILABLE from Publish"))
                .hasMessage("UNAVAILABLE from Publish");
    }

    @Test
    void aPanicIsInternal() {
        assertThat(new NativePanicException(null, "index out of bounds").status())
                .isEqualTo(Status.INTERNAL);
    }
}

package io.github.flinkpubsub.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.flinkpubsub.NativePanicException;
import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.PubSubException.Status;

import org.junit.jupiter.api.Test;

import java.nio.charset.StandardCharsets;

class NativeErrorsTest {

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @Test
    void aFailureOfTheService() {
        PubSubException e =
                NativeErrors.create(
                        5, utf8("no such topic é😀\u0000"), utf8("projects/p/topics/top"), false);
        assertThat(e).isExactlyInstanceOf(PubSubException.class);
        assertThat(e.status()).isEqualTo(Status.NOT_FOUND);
        assertThat(e.resource()).isEqualTo("projects/p/topics/top");
        assertThat(e).hasMessageContaining("no such topic é😀\u0000");
    }

    @Test
    void aPanic() {
        PubSubException e = NativeErrors.create(13, utf8("index out of bounds"), null, true);
        assertThat(e).isExactlyInstanceOf(NativePanicException.class);
        assertThat(e.status()).isEqualTo(Status.INTERNAL);
        assertThat(e.resource()).isNull();
    }
}

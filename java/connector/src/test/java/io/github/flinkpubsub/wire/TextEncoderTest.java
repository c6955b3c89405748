package io.github.flinkpubsub.wire;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;

class TextEncoderTest {

    private final TextEncoder encoder = new TextEncoder();

    private void check(String text) {
        int length = encoder.encode(text);
        assertThat(Arrays.copyOf(encoder.array(), length))
                .isEqualTo(text.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void anyText() {
        Random random = new Random(5);
        int[] bounds = {0x80, 0x800, 0x10000, 0x110000};
        for (int round = 0; round < 2_000; round++) {
            StringBuilder text = new StringBuilder();
            int bound = bounds[random.nextInt(4)];
            for (int i = random.nextInt(3_000); i > 0; i--) {
                // Surrogates without their other half among them.
                text.appendCodePoint(random.nextInt(bound));
            }
            check(text.toString());
        }
    }

    @Test
    void theLongestAndThenShortOnes() {
        check("é".repeat(TextEncoder.MAX_CHARS));
        check("\uffff".repeat(TextEncoder.MAX_CHARS));
        check("");
        check("\ud800");
        check("a");
    }
}

package io.github.flinkpubsub.wire;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;

class Utf8Test {

    private static byte[] written(String text) {
        int length = Utf8.length(text);
        byte[] target = new byte[length + 2];
        assertThat(Utf8.write(text, length, target, 1)).isEqualTo(length + 1);
        assertThat(target[0]).isZero();
        assertThat(target[length + 1]).isZero();
        return Arrays.copyOfRange(target, 1, length + 1);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "a",
                "plain text",
                "\u0000",
                "\u007f\u0080\u07ff\u0800\uffff",
                "é",
                "aé",
                "日本語",
                "😀",
                "x😀y",
                "\ud800\udc00\udbff\udfff"
            })
    void likeTheJdk(String text) {
        assertThat(written(text)).isEqualTo(text.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void anyText() {
        Random random = new Random(7);
        for (int round = 0; round < 2_000; round++) {
            StringBuilder text = new StringBuilder();
            for (int i = random.nextInt(20); i > 0; i--) {
                int codePoint = random.nextInt(1 << (1 + random.nextInt(20)));
                if (codePoint < Character.MIN_SURROGATE || codePoint > Character.MAX_SURROGATE) {
                    text.appendCodePoint(codePoint);
                }
            }
            assertThat(written(text.toString()))
                    .isEqualTo(text.toString().getBytes(StandardCharsets.UTF_8));
        }
    }

    @Test
    void halvesOfSurrogatePairsAreFound() {
        assertThat(Utf8.length("\ud83d")).isEqualTo(-1);
        assertThat(Utf8.length("ab\ud83d")).isEqualTo(-3);
        assertThat(Utf8.length("ab\ude00c")).isEqualTo(-3);
        assertThat(Utf8.length("\ud83d\ud83d\ude00")).isEqualTo(-1);
        assertThat(Utf8.length("é\ud83dx")).isEqualTo(-2);
    }
}

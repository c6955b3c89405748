package io.github.flinkpubsub.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.time.Duration;

class NativeOptionsTest {

    @Test
    void lengthAndTextInTurn() {
        byte[] encoded = new NativeOptions().put("k", "é").put("n", 12).encode();
        assertThat(encoded)
                .isEqualTo(
                        new byte[] {
                            0,
                            0,
                            0,
                            1,
                            'k',
                            0,
                            0,
                            0,
                            2,
                            (byte) 0xc3,
                            (byte) 0xa9,
                            0,
                            0,
                            0,
                            1,
                            'n',
                            0,
                            0,
                            0,
                            2,
                            '1',
                            '2'
                        });
    }

    @Test
    void lengthsAbove255() {
        byte[] encoded = new NativeOptions().put("k", "x".repeat(0x1234)).encode();
        assertThat(encoded).hasSize(5 + 4 + 0x1234);
        assertThat(new byte[] {encoded[5], encoded[6], encoded[7], encoded[8]})
                .isEqualTo(new byte[] {0, 0, 0x12, 0x34});
    }

    @Test
    void unsetOptionsAreLeftOut() {
        NativeOptions options =
                new NativeOptions()
                        .putIfSet("a", (String) null)
                        .putIfSet("b", (Duration) null)
                        .putIfSet("c", Duration.ofSeconds(2))
                        .put("d", true)
                        .put("e", 1.5);
        assertThat(options.asMap()).hasToString("{c=2000, d=true, e=1.5}");
    }
}

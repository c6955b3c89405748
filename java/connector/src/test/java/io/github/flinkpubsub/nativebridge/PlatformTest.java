package io.github.flinkpubsub.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.nio.file.Files;
import java.nio.file.Path;

class PlatformTest {

    @TempDir private Path dir;

    @ParameterizedTest
    @CsvSource({
        "Linux, amd64, linux-x86_64, true, libpubsub_flink.so",
        "Linux, aarch64, linux-aarch64, true, libpubsub_flink.so",
        "Linux, arm64, linux-aarch64, true, libpubsub_flink.so",
        "Linux, riscv64, linux-riscv64, false, libpubsub_flink.so",
        "Mac OS X, x86_64, macos-x86_64, false, libpubsub_flink.dylib",
        "Mac OS X, aarch64, macos-aarch64, false, libpubsub_flink.dylib",
        "Windows 11, amd64, windows-x86_64, false, pubsub_flink.dll"
    })
    void isNamedAsInTheJar(
            String os, String arch, String name, boolean released, String libraryName) {
        Platform platform = Platform.of(os, arch);
        assertThat(platform.name()).isEqualTo(name);
        assertThat(platform.isReleased()).isEqualTo(released);
        assertThat(platform.libraryName()).isEqualTo(libraryName);
    }

    @ParameterizedTest
    @CsvSource({
        "amd64, 2, 62, ''",
        "aarch64, 2, 183, ''",
        "amd64, 2, 183, 'it is built for aarch64, this JVM is x86_64'",
        "aarch64, 2, 62, 'it is built for x86_64, this JVM is aarch64'",
        "amd64, 1, 3, 'it is built for x86 with 32 bits, this JVM is x86_64'",
        "amd64, 2, 300, 'it is built for machine 300, this JVM is x86_64'"
    })
    void knowsALibraryOfAnotherMachine(String arch, int elfClass, int machine, String why)
            throws Exception {
        byte[] header = new byte[64];
        header[0] = 0x7f;
        header[1] = 'E';
        header[2] = 'L';
        header[3] = 'F';
        header[4] = (byte) elfClass;
        header[18] = (byte) machine;
        header[19] = (byte) (machine >> 8);
        Path file = Files.write(dir.resolve("library"), header);
        String whyNot = Platform.of("Linux", arch).whyNot(file);
        assertThat(whyNot == null ? "" : whyNot).isEqualTo(why);
    }

    @Test
    void knowsMuslByWhatIsMapped() {
        String alpine =
                "7f0c3a000000-7f0c3a014000 r--p 00000000 08:01 42    /lib/ld-musl-x86_64.so.1\n";
        String debian = "7f0c3a000000-7f0c3a026000 r--p 00000000 08:01 42    /usr/lib/libc.so.6\n";
        assertThat(Platform.isMusl(alpine)).isTrue();
        assertThat(Platform.isMusl(debian)).isFalse();
    }

    @Test
    void knowsWhatIsNoLibrary() throws Exception {
        Platform platform = Platform.of("Linux", "amd64");
        for (String content : new String[] {"", "\u007fELF", "#!/bin/sh\nexit 1\n# and so on"}) {
            Path file = Files.writeString(dir.resolve("file"), content);
            assertThat(platform.whyNot(file)).isEqualTo("it is not a library for Linux");
            assertThat(Platform.of("Mac OS X", "aarch64").whyNot(file)).isNull();
        }
    }
}

package io.github.flinkpubsub.nativebridge;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Locale;

import javax.annotation.Nullable;

/** An operating system and a processor, named as the libraries in the jar are. */
final class Platform {

    private static final int ELF_CLASS = 4;
    private static final int ELF_CLASS_64 = 2;
    private static final int ELF_MACHINE = 18;
    private static final byte[] ELF_MAGIC = {0x7f, 'E', 'L', 'F'};
    private static final int ELF_HEADER = 20;

    private final String os;
    private final String arch;

    private Platform(String os, String arch) {
        this.os = os;
        this.arch = arch;
    }

    /** This JVM's. */
    static Platform current() {
        return of(System.getProperty("os.name"), System.getProperty("os.arch"));
    }

    /**
     * From the system properties {@code os.name} and {@code os.arch}, which name one platform in
     * several ways.
     */
    static Platform of(String osName, String osArch) {
        String os = osName.toLowerCase(Locale.ROOT);
        String arch = osArch.toLowerCase(Locale.ROOT);
        if (os.startsWith("mac") || os.startsWith("darwin")) {
            os = "macos";
        } else if (os.startsWith("win")) {
            os = "windows";
        }
        if (arch.equals("amd64")) {
            arch = "x86_64";
        } else if (arch.equals("arm64")) {
            arch = "aarch64";
        }
        return new Platform(os, arch);
    }

    /** Such as {@code linux-x86_64}. */
    String name() {
        return os + "-" + arch;
    }

    boolean isLinux() {
        return os.equals("linux");
    }

    /** Whether a release jar has a library for it. */
    boolean isReleased() {
        return isLinux() && (arch.equals("x86_64") || arch.equals("aarch64"));
    }

    /** What the system calls a library. */
    String libraryName() {
        if (os.equals("windows")) {
            return "pubsub_flink.dll";
        }
        return os.equals("macos") ? "libpubsub_flink.dylib" : "libpubsub_flink.so";
    }

    /**
     * Why a file cannot be a library of this platform, by its first bytes; null when it can. The
     * system's own message for this speaks of ELF classes and missing files.
     */
    @Nullable
    String whyNot(Path library) throws IOException {
        if (!isLinux()) {
            return null;
        }
        byte[] header = new byte[ELF_HEADER];
        int read;
        try (java.io.InputStream in = Files.newInputStream(library)) {
            read = in.readNBytes(header, 0, header.length);
        }
        if (read < header.length || !Arrays.equals(header, 0, 4, ELF_MAGIC, 0, 4)) {
            return "it is not a library for Linux";
        }
        int machine = (header[ELF_MACHINE] & 0xff) | (header[ELF_MACHINE + 1] & 0xff) << 8;
        String built = machineName(machine);
        if (header[ELF_CLASS] != ELF_CLASS_64) {
            built += " with 32 bits";
        }
        return built.equals(arch) ? null : "it is built for " + built + ", this JVM is " + arch;
    }

    private static String machineName(int machine) {
        switch (machine) {
            case 3:
                return "x86";
            case 21:
                return "ppc64";
            case 22:
                return "s390x";
            case 40:
                return "arm";
            case 62:
                return "x86_64";
            case 183:
                return "aarch64";
            case 243:
                return "riscv64";
            default:
                return "machine " + machine;
        }
    }

    /** Whether this JVM runs on musl instead of glibc, as on Alpine. */
    static boolean isMusl() {
        try {
            return isMusl(Files.readString(Paths.get("/proc/self/maps")));
        } catch (IOException | RuntimeException e) {
            return false;
        }
    }

    /** From what is mapped: musl's loader stays in the process, as its C library. */
    static boolean isMusl(String maps) {
        return maps.contains("ld-musl");
    }
}

package io.github.flinkpubsub.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Path;
import java.nio.file.Paths;

/** What glibc's and musl's linkers say, and what the user is told. */
class LoadProblemTest {

    private static final Path LIBRARY = Paths.get("/tmp/pubsub-flink-1-2/libpubsub_flink.so");

    private static LoadProblem problem(String said, boolean musl) {
        return LoadProblem.ofLinker(LIBRARY, new UnsatisfiedLinkError(LIBRARY + ": " + said), musl);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "failed to map segment from shared object: Operation not permitted",
                "cannot open shared object file: Permission denied",
                "failed to map segment from shared object"
            })
    void aMountWithoutExecution(String said) {
        LoadProblem problem = problem(said, false);
        assertThat(problem).hasMessageContaining("noexec").hasMessageContaining(said);
        assertThat(problem.advice()).contains("-Dpubsub.native.dir=<directory>");
        assertThat(problem.elsewhere()).isTrue();
    }

    @Test
    void anOldGlibc() {
        LoadProblem problem =
                problem("/lib64/libc.so.6: version `GLIBC_2.34' not found (required by it)", false);
        assertThat(problem).hasMessageContaining("it needs GLIBC_2.34, this machine's glibc is");
        assertThat(problem.advice())
                .contains("use the release jar, whose libraries need glibc 2.17")
                .contains("-Dpubsub.native.path=<file>");
        assertThat(problem.elsewhere()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Error loading shared library ld-linux-x86-64.so.2: No such file or directory",
                "Error relocating /tmp/libpubsub_flink.so: gnu_get_libc_version: symbol not found"
            })
    void musl(String said) {
        LoadProblem problem = problem(said, true);
        assertThat(problem)
                .hasMessageContaining("this JVM runs on musl")
                .hasMessageContaining(said);
        assertThat(problem.advice())
                .contains("use an image with glibc")
                .contains("-Dpubsub.native.path=<file>");
        assertThat(problem.elsewhere()).isFalse();
    }

    @Test
    void aLibraryThatDoesNotFit() {
        LoadProblem problem = problem("unsupported JNI version 0xFFFFFFFF required by it", false);
        assertThat(problem).hasMessageContaining("it does not fit to the jar");
        assertThat(problem.advice()).contains("pubsub.native.path");
        assertThat(problem.elsewhere()).isFalse();
    }

    @Test
    void anythingElse() {
        LoadProblem problem = problem("cannot allocate memory in static TLS block", false);
        assertThat(problem).hasMessageContaining("cannot load " + LIBRARY);
        assertThat(problem.advice()).contains("pubsub.native.dir").contains("pubsub.native.path");
        assertThat(problem.elsewhere()).isTrue();
    }
}

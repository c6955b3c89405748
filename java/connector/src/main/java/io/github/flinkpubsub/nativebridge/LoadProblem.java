package io.github.flinkpubsub.nativebridge;

import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Why the library could not be loaded from one place, and what helps. */
final class LoadProblem extends Exception {

    private static final long serialVersionUID = 1L;

    static final String DIRECTORY_ADVICE =
            "set -D"
                    + NativeLoader.DIR_PROPERTY
                    + "=<directory> (on Flink in env.java.opts.all) to a directory that is"
                    + " writable, has 20 MB to spare and is not mounted noexec";

    static final String PATH_ADVICE =
            "name a library for this machine with -D"
                    + NativeLoader.PATH_PROPERTY
                    + "=<file> (on Flink in env.java.opts.all)";

    private static final Pattern GLIBC = Pattern.compile("version [`'](GLIBC_[0-9.]+)' not found");

    private final String advice;
    private final boolean elsewhere;

    private LoadProblem(String what, String advice, boolean elsewhere, Throwable cause) {
        super(what, cause);
        this.advice = advice;
        this.elsewhere = elsewhere;
    }

    /** The directory is at fault: another one may do. */
    static LoadProblem ofDirectory(String what, Throwable cause) {
        return new LoadProblem(what, DIRECTORY_ADVICE, true, cause);
    }

    /** The library is at fault, wherever it lies. */
    static LoadProblem ofLibrary(String what, String advice, Throwable cause) {
        return new LoadProblem(what, advice, false, cause);
    }

    /** The library is not the one that the jar was built with. */
    static LoadProblem ofOtherBuild(Throwable error) {
        return ofLibrary(
                "it does not fit to the jar: " + error.getMessage(),
                "remove the setting "
                        + NativeLoader.PATH_PROPERTY
                        + ", or name the library that was built with the jar",
                error);
    }

    /** What the system's linker said, in terms of what can be done about it. */
    static LoadProblem ofLinker(Path library, Throwable error, boolean musl) {
        String said = String.valueOf(error.getMessage());
        Matcher glibc = GLIBC.matcher(said);
        if (musl) {
            return ofLibrary(
                    "this JVM runs on musl (as on Alpine Linux), the library needs glibc: " + said,
                    "use an image with glibc, such as Flink's own, or build the library on musl and"
                            + " "
                            + PATH_ADVICE,
                    error);
        }
        if (glibc.find()) {
            return ofLibrary(
                    "it needs " + glibc.group(1) + ", this machine's glibc is older: " + said,
                    "use the release jar, whose libraries need glibc 2.17, or build the library on"
                            + " this machine and "
                            + PATH_ADVICE,
                    error);
        }
        if (said.contains("Operation not permitted")
                || said.contains("Permission denied")
                || said.contains("failed to map segment")) {
            return ofDirectory(
                    "what lies there may not be executed (it is mounted noexec, or a security"
                            + " policy forbids it): "
                            + said,
                    error);
        }
        if (said.contains("unsupported JNI version")) {
            return ofOtherBuild(error);
        }
        return new LoadProblem(
                "cannot load " + library + ": " + said,
                DIRECTORY_ADVICE + ", or " + PATH_ADVICE,
                true,
                error);
    }

    /** Which setting helps. */
    String advice() {
        return advice;
    }

    /** Whether it may work in another directory. */
    boolean elsewhere() {
        return elsewhere;
    }
}

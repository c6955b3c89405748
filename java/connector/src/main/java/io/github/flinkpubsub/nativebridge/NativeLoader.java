package io.github.flinkpubsub.nativebridge;

import io.github.flinkpubsub.PubSubException;
import io.github.flinkpubsub.PubSubException.Status;

import org.apache.flink.annotation.Internal;
import org.apache.flink.configuration.ConfigConstants;
import org.apache.flink.configuration.CoreOptions;
import org.apache.flink.configuration.GlobalConfiguration;
import org.apache.flink.configuration.ReadableConfig;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;

import javax.annotation.Nullable;

/**
 * Loads the native library, once per class loader.
 *
 * <p>The JVM binds a library file to one class loader, and a session cluster has many: each gets a
 * copy of its own, which is removed as soon as it is loaded. {@code docs/native-library.md} tells
 * where the library is taken from, where the copies are made, and what each failure means.
 *
 * <p>Any thread may call {@link #load()}, any number of times; after a failure the next call tries
 * again. The library finds its Java peers through the class that loads it, which is this one.
 */
@Internal
public final class NativeLoader {

    /** System property: a library file to use instead of the one in the jar. */
    public static final String PATH_PROPERTY = "pubsub.native.path";

    /** System property: the only directory in which the library is unpacked. */
    public static final String DIR_PROPERTY = "pubsub.native.dir";

    private static final Logger LOG = LoggerFactory.getLogger(NativeLoader.class);

    private static volatile boolean loaded;

    private NativeLoader() {}

    /**
     * Loads the library unless it is loaded. Flink's temporary directories are those of the
     * configuration file of this process, if it has one.
     *
     * @throws PubSubException when it cannot be; the message names what was tried and the setting
     *     that helps
     */
    public static void load() throws PubSubException {
        load(null);
    }

    /**
     * Loads the library unless it is loaded.
     *
     * @param flink the configuration of this process, which names Flink's temporary directories;
     *     null when it is not at hand
     * @throws PubSubException as above
     */
    public static synchronized void load(@Nullable ReadableConfig flink) throws PubSubException {
        if (!loaded) {
            Platform platform = Platform.current();
            loadFrom(source(platform), directories(flink), platform);
            loaded = true;
        }
    }

    static boolean isLoaded() {
        return loaded;
    }

    /** Where the bytes of the library come from. */
    private static Source source(Platform platform) throws PubSubException {
        String configured = System.getProperty(PATH_PROPERTY);
        if (configured != null) {
            File file = new File(configured);
            if (!file.isFile() || !file.canRead()) {
                throw failure(
                        PATH_PROPERTY
                                + " names "
                                + configured
                                + (file.isFile()
                                        ? ", which cannot be read"
                                        : ", which is not a file"),
                        "name the library file, or remove the setting to use the one in the jar",
                        null);
            }
            return new Source(configured, () -> Files.newInputStream(file.toPath()));
        }
        // Relative to this class: a user's shading may have moved both.
        String resource = platform.name() + "/" + platform.libraryName();
        if (NativeLoader.class.getResource(resource) != null) {
            return new Source(
                    resource + " of the jar",
                    () -> NativeLoader.class.getResourceAsStream(resource));
        }
        if (!platform.isReleased()) {
            throw failure(
                    "there is none for "
                            + platform.name()
                            + ": the jar has libraries for linux-x86_64 and linux-aarch64 only",
                    "build it there (cargo build --release -p pubsub-flink) and "
                            + LoadProblem.PATH_ADVICE,
                    null);
        }
        throw failure(
                "this jar has none for " + platform.name(),
                "use the release jar, which has it, or " + LoadProblem.PATH_ADVICE,
                null);
    }

    /** Where the library may be unpacked, in the order of trying. */
    private static Collection<String> directories(@Nullable ReadableConfig flink) {
        String configured = System.getProperty(DIR_PROPERTY);
        if (configured != null) {
            return Collections.singleton(configured);
        }
        Set<String> directories = new LinkedHashSet<>();
        ReadableConfig config = flink;
        if (config == null && System.getenv(ConfigConstants.ENV_FLINK_CONF_DIR) != null) {
            config = configurationFile();
        }
        if (config != null) {
            // The separators that Flink accepts.
            for (String directory :
                    config.get(CoreOptions.TMP_DIRS).split(",|" + File.pathSeparator)) {
                if (!directory.trim().isEmpty()) {
                    directories.add(directory.trim());
                }
            }
        }
        directories.add(System.getProperty("java.io.tmpdir"));
        return directories;
    }

    @Nullable
    private static ReadableConfig configurationFile() {
        try {
            return GlobalConfiguration.loadConfiguration();
        } catch (RuntimeException e) {
            LOG.debug("Flink's configuration cannot be read; not using its directories", e);
            return null;
        }
    }

    private static void loadFrom(Source source, Collection<String> directories, Platform platform)
            throws PubSubException {
        List<String> tried = new ArrayList<>();
        for (String directory : directories) {
            try {
                loadIn(directory, source, platform);
                if (!tried.isEmpty()) {
                    LOG.info("The native library is loaded from {} after: {}", directory, tried);
                }
                return;
            } catch (LoadProblem problem) {
                tried.add(
                        "tried " + source.name + " in " + directory + ": " + problem.getMessage());
                if (!problem.elsewhere() || tried.size() == directories.size()) {
                    throw failure(String.join("; ", tried), problem.advice(), problem.getCause());
                }
            }
        }
    }

    private static void loadIn(String directory, Source source, Platform platform)
            throws LoadProblem, PubSubException {
        Path base = Paths.get(directory).toAbsolutePath();
        try (PrivateCopy copy = PrivateCopy.in(base, platform.libraryName())) {
            try (InputStream in = source.opener.open()) {
                copy.write(in);
            }
            String whyNot = platform.whyNot(copy.library());
            if (whyNot != null) {
                throw LoadProblem.ofLibrary(whyNot, LoadProblem.PATH_ADVICE, null);
            }
            link(copy.library());
        } catch (IOException | RuntimeException e) {
            if (e instanceof PubSubException) {
                throw (PubSubException) e;
            }
            throw LoadProblem.ofDirectory("cannot write there: " + e, e);
        }
    }

    private static void link(Path library) throws LoadProblem, PubSubException {
        try {
            System.load(library.toString());
        } catch (UnsatisfiedLinkError e) {
            throw LoadProblem.ofLinker(library, e, Platform.isMusl());
        }
        String version = new String(LibraryNatives.version(), StandardCharsets.UTF_8);
        String jar = jarVersion();
        if (!version.equals(jar)) {
            throw LoadProblem.ofLibrary(
                    "it has version " + version + " but the jar has version " + jar,
                    "remove the setting " + PATH_PROPERTY + ", or name a library of that version",
                    null);
        }
        try {
            LibraryNatives.bind();
        } catch (RuntimeException e) {
            throw LoadProblem.ofOtherBuild(e);
        }
    }

    static String jarVersion() throws PubSubException {
        Properties properties = new Properties();
        try (InputStream in = NativeLoader.class.getResourceAsStream("version.properties")) {
            properties.load(in);
        } catch (IOException | RuntimeException e) {
            throw failure("version.properties is missing: " + e, "use the jar as it was built", e);
        }
        return properties.getProperty("version");
    }

    private static PubSubException failure(String what, String advice, @Nullable Throwable cause) {
        return new PubSubException(
                Status.FAILED_PRECONDITION,
                null,
                "the native library cannot be used: " + what + "; to help, " + advice,
                cause);
    }

    /** A library by its name and a way to its bytes. */
    private static final class Source {
        final String name;
        final Opener opener;

        Source(String name, Opener opener) {
            this.name = name;
            this.opener = opener;
        }
    }

    private interface Opener {
        InputStream open() throws IOException;
    }
}

package io.github.flinkpubsub.nativebridge;

import io.github.flinkpubsub.PubSubException;

import org.apache.flink.annotation.Internal;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.util.UserCodeClassLoader;

import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;

import javax.annotation.Nullable;

/**
 * The life of the library as a whole. Its threads, native ones and the one that carries its log,
 * exist while a client is open, so they go with the last task of a job; what a task has left open
 * goes when Flink releases the job's class loader. Any thread may call any method.
 */
@Internal
public final class NativeLibrary {

    /**
     * System property: the number of native threads that serve all clients of a class loader, 1 to
     * 64. Without it, half as many as the processors that this process may use, 1 to 4.
     */
    public static final String THREADS_PROPERTY = "pubsub.native.threads";

    /** System property: whether tests may make the library panic. */
    static final String DEBUG_PROPERTY = "pubsub.native.debug";

    private static final int MAX_THREADS = 64;

    private static final String RELEASE_HOOK = "pubsub-native";

    /** Class loaders of jobs that use this library and were not released yet. */
    static final Set<ClassLoader> JOBS = Collections.newSetFromMap(new WeakHashMap<>());

    private static int clients;

    /** Those of tasks, which are closed before the job's class loader is released. */
    private static int taskClients;

    @Nullable private static NativeLog log;

    private NativeLibrary() {}

    /**
     * Loads the library for a task of a job.
     *
     * @param job what tells the end of the job
     * @param flink the configuration of this process, which names Flink's temporary directories;
     *     null when it is not at hand
     * @throws PubSubException when it cannot be loaded; the message names what was tried and the
     *     setting that helps
     */
    public static void load(UserCodeClassLoader job, @Nullable ReadableConfig flink)
            throws PubSubException {
        NativeLoader.load(flink);
        ClassLoader loader = job.asClassLoader();
        synchronized (NativeLibrary.class) {
            JOBS.add(loader);
        }
        job.registerReleaseHookIfAbsent(RELEASE_HOOK, () -> released(loader));
    }

    /**
     * Bytes of native memory that the library holds for all clients of this class loader; 0 when it
     * is not loaded.
     */
    public static long memory() {
        return NativeLoader.isLoaded() ? LibraryNatives.memory() : 0;
    }

    /**
     * A client is about to be opened. To be followed by {@link #clientClosed}, also when opening
     * fails.
     *
     * @param ofTask whether a task opens it, or else the job's coordinator or main method
     * @throws IllegalArgumentException when a setting is not understood; names it
     */
    static synchronized void clientOpens(boolean ofTask) throws PubSubException {
        NativeLoader.load();
        if (log == null) {
            LibraryNatives.configure(settings().encode());
            log = NativeLog.start();
        }
        clients++;
        taskClients += ofTask ? 1 : 0;
    }

    /** A client is closed; the last one ends the library's threads. */
    static synchronized void clientClosed(boolean ofTask) {
        clients--;
        taskClients -= ofTask ? 1 : 0;
        if (clients == 0) {
            stop(LibraryNatives::stop);
        }
    }

    /**
     * The job's tasks have ended. With the last job, nobody is left to close what they have left
     * open. In a process that has the job's coordinator as well, that one may be at work still.
     */
    private static synchronized void released(ClassLoader loader) {
        JOBS.remove(loader);
        if (JOBS.isEmpty() && taskClients > 0) {
            if (clients == taskClients) {
                TokenFeed.abandonAll();
            }
            stop(LibraryNatives::abandon);
        }
    }

    private static void stop(Runnable threads) {
        NativeLog running = log;
        log = null;
        if (running != null) {
            running.end(threads);
        } else {
            threads.run();
        }
    }

    private static NativeOptions settings() {
        NativeOptions settings = new NativeOptions();
        String threads = System.getProperty(THREADS_PROPERTY);
        if (threads != null) {
            settings.put("threads", checkThreads(threads));
        }
        return settings.put("debug", Boolean.getBoolean(DEBUG_PROPERTY));
    }

    private static int checkThreads(String value) {
        try {
            int threads = Integer.parseInt(value.trim());
            if (threads >= 1 && threads <= MAX_THREADS) {
                return threads;
            }
        } catch (NumberFormatException e) {
            // Told below.
        }
        throw new IllegalArgumentException(
                THREADS_PROPERTY
                        + " must be a whole number from 1 to "
                        + MAX_THREADS
                        + ", not '"
                        + value
                        + "'");
    }
}

package io.github.flinkpubsub.nativebridge;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Carries what the library logs into Flink's log. It asks for lines in a thread of its own: native
 * threads do not call into the JVM. A module of the library has the logger {@code
 * io.github.flinkpubsub.native.<module>}; the most verbose of them decides what the library
 * collects, so what nobody wants to see costs nothing.
 */
final class NativeLog implements Runnable {

    /** Modules that have something to say below warnings. */
    private static final String[] MODULES = {
        "admin", "auth", "connect", "grpc", "library", "publish", "subscribe"
    };

    private static final String OURS = "pubsub_client";
    private static final String LIBRARY = "pubsub_flink";

    /** How long a look at the levels is good for. */
    private static final long WAIT_MILLIS = 1_000;

    private static final long END_MILLIS = 1_000;

    private static final int ERROR = 1;
    private static final int WARN = 2;
    private static final int INFO = 3;
    private static final int DEBUG = 4;
    private static final int TRACE = 5;

    private final Map<String, Logger> loggers = new ConcurrentHashMap<>();
    private final Thread thread;
    private volatile boolean ended;

    private NativeLog() {
        for (String module : MODULES) {
            loggers.put(module, logger(module));
        }
        thread = new Thread(this, "pubsub-native-log");
        thread.setDaemon(true);
        thread.setContextClassLoader(null);
    }

    static NativeLog start() {
        NativeLog log = new NativeLog();
        log.thread.start();
        return log;
    }

    /** Logs what there is while {@code threads} end the library's threads, and then no more. */
    void end(Runnable threads) {
        ended = true;
        threads.run();
        try {
            thread.join(END_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        // What came after the thread's last look.
        log(LibraryNatives.logs(0, level()));
    }

    @Override
    public void run() {
        while (!ended) {
            log(LibraryNatives.logs(WAIT_MILLIS, level()));
        }
    }

    private int level() {
        int level = 0;
        for (Logger logger : loggers.values()) {
            level = Math.max(level, level(logger));
        }
        return level;
    }

    private static int level(Logger logger) {
        if (logger.isTraceEnabled()) {
            return TRACE;
        } else if (logger.isDebugEnabled()) {
            return DEBUG;
        } else if (logger.isInfoEnabled()) {
            return INFO;
        } else if (logger.isWarnEnabled()) {
            return WARN;
        }
        return logger.isErrorEnabled() ? ERROR : 0;
    }

    private void log(byte[] lines) {
        ByteBuffer in = ByteBuffer.wrap(lines);
        while (in.hasRemaining()) {
            int level = in.get();
            Logger logger = loggers.computeIfAbsent(module(text(in)), NativeLog::logger);
            log(logger, level, text(in));
        }
    }

    private static void log(Logger logger, int level, String line) {
        switch (level) {
            case ERROR:
                logger.error("{}", line);
                break;
            case WARN:
                logger.warn("{}", line);
                break;
            case INFO:
                logger.info("{}", line);
                break;
            case DEBUG:
                logger.debug("{}", line);
                break;
            default:
                logger.trace("{}", line);
        }
    }

    /** {@code pubsub_client::subscribe::stream} belongs to the module {@code subscribe}. */
    static String module(String target) {
        String[] path = target.split("::");
        if (path[0].equals(LIBRARY)) {
            return "library";
        }
        return path[0].equals(OURS) && path.length > 1 ? path[1] : path[0];
    }

    /** Beside the connector's own loggers, also where a user's shading has moved them. */
    static Logger logger(String module) {
        String bridge = NativeLog.class.getPackage().getName();
        String connector = bridge.substring(0, bridge.lastIndexOf('.'));
        return LoggerFactory.getLogger(connector + ".native." + module);
    }

    private static String text(ByteBuffer in) {
        byte[] utf8 = new byte[in.getInt()];
        in.get(utf8);
        return new String(utf8, StandardCharsets.UTF_8);
    }
}

package io.github.flinkpubsub;

import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Configurator;
import org.apache.logging.log4j.core.config.Property;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Keeps what is logged while it is open. */
public final class LogCapture implements AutoCloseable {

    private final LoggerContext context = (LoggerContext) LogManager.getContext(false);
    private final List<String> lines = Collections.synchronizedList(new ArrayList<>());
    private final String logger;
    private final AbstractAppender appender;

    private LogCapture(String logger, Level level) {
        this.logger = logger;
        appender =
                new AbstractAppender("capture", null, null, true, Property.EMPTY_ARRAY) {
                    @Override
                    public void append(LogEvent event) {
                        if (event.getLoggerName().startsWith(logger)) {
                            lines.add(
                                    event.getLevel()
                                            + " "
                                            + event.getMessage().getFormattedMessage());
                        }
                    }
                };
        appender.start();
        context.getConfiguration().getRootLogger().addAppender(appender, level, null);
        context.updateLoggers();
    }

    /** Errors of all loggers. */
    public static LogCapture errors() {
        return new LogCapture("", Level.ERROR);
    }

    /** What one class logs, from INFO on. */
    public static LogCapture of(Class<?> type) {
        Configurator.setLevel(type.getName(), Level.INFO);
        return new LogCapture(type.getName(), Level.INFO);
    }

    /** Level and text of each line so far. */
    public List<String> lines() {
        return new ArrayList<>(lines);
    }

    @Override
    public void close() {
        context.getConfiguration().getRootLogger().removeAppender(appender.getName());
        if (!logger.isEmpty()) {
            context.getConfiguration().removeLogger(logger);
        }
        context.updateLoggers();
    }
}

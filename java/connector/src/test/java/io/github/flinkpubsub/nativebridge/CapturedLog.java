package io.github.flinkpubsub.nativebridge;

import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Configuration;
import org.apache.logging.log4j.core.config.LoggerConfig;
import org.apache.logging.log4j.core.config.Property;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;

/** What is logged under a name, from now until it is closed. */
final class CapturedLog implements AutoCloseable {

    private final String name;
    private final List<LogEvent> events = new CopyOnWriteArrayList<>();
    private final LoggerContext context = (LoggerContext) LogManager.getContext(false);
    private final LoggerConfig config;

    private CapturedLog(String name) {
        this.name = name;
        AbstractAppender appender =
                new AbstractAppender("captured " + name, null, null, true, Property.EMPTY_ARRAY) {
                    @Override
                    public void append(LogEvent event) {
                        events.add(event.toImmutable());
                    }
                };
        appender.start();
        config = new LoggerConfig(name, Level.INFO, false);
        config.addAppender(appender, Level.ALL, null);
        Configuration configuration = context.getConfiguration();
        configuration.addLogger(name, config);
        context.updateLoggers();
    }

    /** Of a logger and those below it, at INFO and above. */
    static CapturedLog of(String name) {
        return new CapturedLog(name);
    }

    void setLevel(Level level) {
        config.setLevel(level);
        context.updateLoggers();
    }

    List<LogEvent> events() {
        return events;
    }

    /** The lines of a level. */
    List<String> texts(String level) {
        return events.stream()
                .filter(event -> event.getLevel().name().equals(level))
                .map(event -> event.getMessage().getFormattedMessage())
                .collect(Collectors.toList());
    }

    @Override
    public void close() {
        context.getConfiguration().removeLogger(name);
        context.updateLoggers();
    }
}

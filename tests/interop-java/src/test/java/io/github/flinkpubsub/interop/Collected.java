package io.github.flinkpubsub.interop;

import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;

import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/** Ends a job in the test: hands every record to a consumer of this JVM. */
final class Collected implements Sink<Event>, AutoCloseable {
    private static final long serialVersionUID = 1L;
    private static final Map<UUID, Consumer<Event>> CONSUMERS = new ConcurrentHashMap<>();

    private final UUID id = UUID.randomUUID();

    Collected(Consumer<Event> consumer) {
        CONSUMERS.put(id, consumer);
    }

    @Override
    public SinkWriter<Event> createWriter(WriterInitContext context) {
        Consumer<Event> consumer = CONSUMERS.get(id);
        return new SinkWriter<Event>() {
            @Override
            public void write(Event event, Context context) {
                consumer.accept(event);
            }

            @Override
            public void flush(boolean endOfInput) {}

            @Override
            public void close() {}
        };
    }

    @Override
    public void close() {
        CONSUMERS.remove(id);
    }
}

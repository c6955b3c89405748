package io.github.flinkpubsub.examples;

import io.github.flinkpubsub.sink.PubSubSinkBuilder;
import io.github.flinkpubsub.source.PubSubSourceBuilder;

/**
 * How the jobs reach Pub/Sub: an emulator, or Google with a key file or else as the account that
 * the machine runs as (Application Default Credentials).
 */
final class Connection {
    private final String emulator;
    private final String endpoint;
    private final String keyFile;

    private Connection(String emulator, String endpoint, String keyFile) {
        this.emulator = emulator;
        this.endpoint = endpoint;
        this.keyFile = keyFile;
    }

    /**
     * To {@code --emulator host:port}, or to Google with {@code --endpoint}, {@code --key-file}.
     */
    static Connection of(Arguments arguments) {
        return new Connection(
                arguments.get("emulator", null),
                arguments.get("endpoint", null),
                arguments.get("key-file", null));
    }

    /** To an emulator, {@code host:port}. */
    static Connection emulator(String emulator) {
        return new Connection(emulator, null, null);
    }

    <T> PubSubSourceBuilder<T> applyTo(PubSubSourceBuilder<T> source) {
        if (emulator != null) {
            source.emulatorEndpoint(emulator);
        }
        if (endpoint != null) {
            source.endpoint(endpoint);
        }
        if (keyFile != null) {
            source.serviceAccountKeyFile(keyFile);
        }
        return source;
    }

    <T> PubSubSinkBuilder<T> applyTo(PubSubSinkBuilder<T> sink) {
        if (emulator != null) {
            sink.emulatorEndpoint(emulator);
        }
        if (endpoint != null) {
            sink.endpoint(endpoint);
        }
        if (keyFile != null) {
            sink.serviceAccountKeyFile(keyFile);
        }
        return sink;
    }
}

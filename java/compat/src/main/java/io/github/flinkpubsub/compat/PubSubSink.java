package io.github.flinkpubsub.compat;

import com.google.auth.Credentials;

import io.github.flinkpubsub.OptionChecks;
import io.github.flinkpubsub.PubSubSerializationSchema;
import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.sink.CreateDisposition;

import org.apache.flink.annotation.PublicEvolving;
import org.apache.flink.api.common.serialization.SerializationSchema;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;

import java.io.IOException;

import javax.annotation.Nullable;

/**
 * Publishes records to a Pub/Sub topic, built as Apache's sink is. A checkpoint completes only when
 * every record before it is on the service.
 *
 * <p>It is a sink of Flink's current kind: {@code stream.sinkTo(sink)} takes the place of {@code
 * stream.addSink(sink)}. {@code docs/migration.md} says what is different.
 *
 * @param <IN> the records' type
 */
@PublicEvolving
public class PubSubSink<IN> implements Sink<IN> {

    private static final long serialVersionUID = 1L;

    private final io.github.flinkpubsub.sink.PubSubSink<IN> sink;

    PubSubSink(io.github.flinkpubsub.sink.PubSubSink<IN> sink) {
        this.sink = sink;
    }

    /** Starts on a sink. */
    public static SerializationSchemaBuilder newBuilder() {
        return new SerializationSchemaBuilder();
    }

    @Override
    public SinkWriter<IN> createWriter(WriterInitContext context) throws IOException {
        return sink.createWriter(context);
    }

    /** The first step of the builder: what records are encoded with. */
    @PublicEvolving
    public static class SerializationSchemaBuilder {

        SerializationSchemaBuilder() {}

        /** Encodes the payloads. */
        public <IN> ProjectNameBuilder<IN> withSerializationSchema(
                SerializationSchema<IN> serializationSchema) {
            return new PubSubSinkBuilder<>(
                    OptionChecks.notNull("serializationSchema", serializationSchema));
        }
    }

    /**
     * The second step of the builder.
     *
     * @param <IN> the records' type
     */
    @PublicEvolving
    public interface ProjectNameBuilder<IN> {

        /** The project of the topic. */
        TopicNameBuilder<IN> withProjectName(String projectName);
    }

    /**
     * The third step of the builder.
     *
     * @param <IN> the records' type
     */
    @PublicEvolving
    public interface TopicNameBuilder<IN> {

        /** The id of the topic, which must exist. */
        PubSubSinkBuilder<IN> withTopicName(String topicName);
    }

    /**
     * The optional steps of the builder.
     *
     * @param <IN> the records' type
     */
    @PublicEvolving
    public static class PubSubSinkBuilder<IN>
            implements ProjectNameBuilder<IN>, TopicNameBuilder<IN> {

        private final SerializationSchema<IN> schema;
        @Nullable private String projectName;
        @Nullable private String topicName;
        @Nullable private Credentials credentials;
        @Nullable private String hostAndPort;
        @Nullable private String endpoint;
        @Nullable private String caCertificateFile;

        PubSubSinkBuilder(SerializationSchema<IN> schema) {
            this.schema = schema;
        }

        @Override
        public TopicNameBuilder<IN> withProjectName(String projectName) {
            this.projectName = OptionChecks.notBlank("projectName", projectName);
            return this;
        }

        @Override
        public PubSubSinkBuilder<IN> withTopicName(String topicName) {
            this.topicName = OptionChecks.notBlank("topicName", topicName);
            return this;
        }

        /**
         * The identity to publish with. The object travels with the job in its serialized form,
         * with what secrets it holds; each task manager gets tokens from it and hands them to the
         * native client before they expire. By default, and with null, Application Default
         * Credentials of each task manager.
         */
        public PubSubSinkBuilder<IN> withCredentials(@Nullable Credentials credentials) {
            this.credentials = credentials;
            return this;
        }

        /**
         * An emulator, {@code host:port}: plaintext and without credentials, also beside {@link
         * #withCredentials}. Null, the default, is for the service.
         */
        public PubSubSinkBuilder<IN> withHostAndPortForEmulator(@Nullable String hostAndPort) {
            this.hostAndPort = hostAndPort;
            return this;
        }

        /** A server of a test, over TLS. */
        PubSubSinkBuilder<IN> server(String endpoint, String caCertificateFile) {
            this.endpoint = endpoint;
            this.caCertificateFile = caCertificateFile;
            return this;
        }

        /**
         * Builds the sink.
         *
         * @throws IllegalArgumentException when a required field is missing; names it
         * @throws IOException never; code that is moved over handles it
         */
        public PubSubSink<IN> build() throws IOException {
            TopicDestination topic =
                    TopicDestination.of(
                            OptionChecks.notBlank("projectName", projectName),
                            OptionChecks.notBlank("topicName", topicName));
            io.github.flinkpubsub.sink.PubSubSinkBuilder<IN> builder =
                    io.github.flinkpubsub.sink.PubSubSink.<IN>builder()
                            .topic(topic)
                            .serializer(PubSubSerializationSchema.payload(schema))
                            .createDisposition(CreateDisposition.CREATE_NEVER);
            if (hostAndPort != null) {
                builder.emulatorEndpoint(hostAndPort);
            } else if (credentials != null) {
                builder.accessTokenProvider(CredentialsTokens.of(credentials));
            }
            if (endpoint != null) {
                builder.endpoint(endpoint).caCertificateFile(caCertificateFile);
            }
            return new PubSubSink<>(builder.build());
        }
    }
}

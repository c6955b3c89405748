package io.github.flinkpubsub.compat;

import com.google.auth.Credentials;

import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.source.enumerator.PubSubEnumeratorState;
import io.github.flinkpubsub.source.split.PubSubSplit;

import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;

import javax.annotation.Nullable;

/** Reads with subscribers of the user's. */
final class PullDelegate<T> implements Delegate<T> {

    private static final long serialVersionUID = 1L;

    private final SubscriptionDestination subscription;
    private final EndAwareSchema<T> schema;
    private final PubSubSubscriberFactory factory;
    private final Credentials credentials;
    private final int messagesPerSecond;

    PullDelegate(
            SubscriptionDestination subscription,
            EndAwareSchema<T> schema,
            PubSubSubscriberFactory factory,
            @Nullable Credentials credentials,
            int messagesPerSecond) {
        this.subscription = subscription;
        this.schema = schema;
        this.factory = factory;
        this.credentials = credentials == null ? new EnvironmentCredentials() : credentials;
        this.messagesPerSecond = messagesPerSecond;
    }

    @Override
    public SourceReader<T, PubSubSplit> createReader(SourceReaderContext context) throws Exception {
        schema.open(new SchemaContext(context));
        return PullReader.create(
                factory.getSubscriber(credentials), schema, messagesPerSecond, context);
    }

    @Override
    public SplitEnumerator<PubSubSplit, PubSubEnumeratorState> createEnumerator(
            SplitEnumeratorContext<PubSubSplit> context, @Nullable PubSubEnumeratorState state) {
        return new PullEnumerator(context, subscription);
    }
}

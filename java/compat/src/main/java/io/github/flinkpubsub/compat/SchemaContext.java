package io.github.flinkpubsub.compat;

import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.util.UserCodeClassLoader;

/** What a schema is opened with. */
final class SchemaContext implements DeserializationSchema.InitializationContext {

    private final SourceReaderContext context;

    SchemaContext(SourceReaderContext context) {
        this.context = context;
    }

    @Override
    public MetricGroup getMetricGroup() {
        return context.metricGroup().addGroup("user");
    }

    @Override
    public UserCodeClassLoader getUserCodeClassLoader() {
        return context.getUserCodeClassLoader();
    }
}

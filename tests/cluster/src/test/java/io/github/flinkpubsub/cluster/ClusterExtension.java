package io.github.flinkpubsub.cluster;

import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ExtensionContext.Store.CloseableResource;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

import java.io.IOException;
import java.io.UncheckedIOException;

/**
 * The cluster that has the connector in its {@code lib} folder, for test methods with a parameter
 * of type {@link FlinkCluster}. All classes share it; each finds all slots free, and leaves them
 * so.
 */
final class ClusterExtension implements BeforeAllCallback, ParameterResolver {

    @Override
    public void beforeAll(ExtensionContext context) {
        cluster(context).awaitFreeSlots(2 * FlinkCluster.SLOTS);
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == FlinkCluster.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        return cluster(context);
    }

    private static FlinkCluster cluster(ExtensionContext context) {
        return context.getRoot()
                .getStore(Namespace.create(ClusterExtension.class))
                .getOrComputeIfAbsent("lib", key -> new Running(), Running.class)
                .cluster;
    }

    private static final class Running implements CloseableResource {
        private final FlinkCluster cluster;

        private Running() {
            try {
                cluster = FlinkCluster.start("lib", FlinkCluster.property("connector"));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public void close() {
            cluster.close();
        }
    }
}

package io.github.flinkpubsub.sink;

import io.github.flinkpubsub.OptionChecks;
import io.github.flinkpubsub.nativebridge.NativeOptions;

import org.apache.flink.annotation.Internal;
import org.apache.flink.annotation.PublicEvolving;

import java.io.Serializable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import javax.annotation.Nullable;

/**
 * The settings of topics that a sink creates; what is not set is the service's default. A topic
 * that exists keeps its settings.
 */
@PublicEvolving
public final class TopicCreateOptions implements Serializable {

    private static final long serialVersionUID = 1L;

    @Nullable private final Duration messageRetention;
    @Nullable private final String kmsKeyName;
    private final ArrayList<String> allowedPersistenceRegions;
    private final boolean enforceInTransit;
    private final LinkedHashMap<String, String> labels;

    private TopicCreateOptions(Builder builder) {
        messageRetention = builder.messageRetention;
        kmsKeyName = builder.kmsKeyName;
        allowedPersistenceRegions = new ArrayList<>(builder.allowedPersistenceRegions);
        enforceInTransit = builder.enforceInTransit;
        labels = new LinkedHashMap<>(builder.labels);
    }

    /** A builder with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Adds what is set. */
    @Internal
    public void addTo(NativeOptions options) {
        options.putIfSet("topic.message-retention-ms", messageRetention)
                .putIfSet("topic.kms-key-name", kmsKeyName);
        if (!allowedPersistenceRegions.isEmpty()) {
            options.put("topic.allowed-regions", String.join(",", allowedPersistenceRegions))
                    .put("topic.enforce-in-transit", enforceInTransit);
        }
        labels.forEach((name, value) -> options.put("topic.label." + name, value));
    }

    /** Builds {@link TopicCreateOptions}. */
    @PublicEvolving
    public static final class Builder {

        @Nullable private Duration messageRetention;
        @Nullable private String kmsKeyName;
        private List<String> allowedPersistenceRegions = new ArrayList<>();
        private boolean enforceInTransit;
        private final Map<String, String> labels = new LinkedHashMap<>();

        private Builder() {}

        /** How long the topic keeps messages. 10 min to 31 days; by default it does not. */
        public Builder messageRetention(Duration retention) {
            messageRetention =
                    OptionChecks.within(
                            "messageRetention",
                            retention,
                            Duration.ofMinutes(10),
                            Duration.ofDays(31));
            return this;
        }

        /** The key that encrypts messages at rest, {@code projects/…/cryptoKeys/…}. */
        public Builder kmsKeyName(String name) {
            kmsKeyName = OptionChecks.notBlank("kmsKeyName", name);
            return this;
        }

        /** The regions in which messages may be stored, such as {@code europe-west1}. */
        public Builder allowedPersistenceRegions(String... regions) {
            for (String region : regions) {
                OptionChecks.notBlank("allowedPersistenceRegions", region);
                if (!region.matches("[a-z0-9-]+")) {
                    throw new IllegalArgumentException(
                            "allowedPersistenceRegions has a region that is none: '"
                                    + region
                                    + "'");
                }
            }
            allowedPersistenceRegions = new ArrayList<>(Arrays.asList(regions));
            return this;
        }

        /**
         * Whether messages must not even pass through other regions; needs {@link
         * #allowedPersistenceRegions}.
         */
        public Builder enforceInTransit(boolean enforce) {
            enforceInTransit = enforce;
            return this;
        }

        /** Adds a label. */
        public Builder label(String name, String value) {
            OptionChecks.notBlank("the name of a label", name);
            labels.put(name, OptionChecks.notNull("the value of label '" + name + "'", value));
            return this;
        }

        /** Adds labels. */
        public Builder labels(Map<String, String> labels) {
            OptionChecks.notNull("labels", labels).forEach(this::label);
            return this;
        }

        /**
         * Builds the options.
         *
         * @throws IllegalArgumentException when {@link #enforceInTransit} is set without regions
         */
        public TopicCreateOptions build() {
            if (enforceInTransit && allowedPersistenceRegions.isEmpty()) {
                throw new IllegalArgumentException(
                        "enforceInTransit has no meaning without allowedPersistenceRegions");
            }
            return new TopicCreateOptions(this);
        }
    }
}

package io.github.flinkpubsub.source;

import io.github.flinkpubsub.OptionChecks;

import org.apache.flink.annotation.Internal;
import org.apache.flink.annotation.PublicEvolving;

import java.io.Serializable;
import java.time.Instant;
import java.util.Objects;

import javax.annotation.Nullable;

/**
 * Where a job starts to read a subscription.
 *
 * <p>The position of a subscription is kept by the service and shared by all its consumers. Every
 * start position but {@link #continueFromSubscription()} moves it, with a seek, for all of them.
 * That happens once, before the first reader is attached; a job that is restored from a checkpoint
 * or a savepoint goes on where the subscription stands. A job that fails before its first
 * checkpoint starts over, seek included.
 */
@PublicEvolving
public final class StartPosition implements Serializable {

    private static final long serialVersionUID = 1L;

    /** What a start position does. */
    @Internal
    public enum Kind {
        CONTINUE,
        EARLIEST,
        LATEST,
        TIMESTAMP,
        SNAPSHOT
    }

    private static final StartPosition CONTINUE = new StartPosition(Kind.CONTINUE, null, null);
    private static final StartPosition EARLIEST = new StartPosition(Kind.EARLIEST, null, null);
    private static final StartPosition LATEST = new StartPosition(Kind.LATEST, null, null);

    private final Kind kind;
    @Nullable private final Instant timestamp;
    @Nullable private final String snapshot;

    private StartPosition(Kind kind, @Nullable Instant timestamp, @Nullable String snapshot) {
        this.kind = kind;
        this.timestamp = timestamp;
        this.snapshot = snapshot;
    }

    /** What is not acknowledged yet; the default. Moves nothing. */
    public static StartPosition continueFromSubscription() {
        return CONTINUE;
    }

    /**
     * The oldest message that the service still has: also acknowledged ones, as far as the
     * subscription or its topic retains them.
     */
    public static StartPosition earliestRetained() {
        return EARLIEST;
    }

    /** What is published from now on; the backlog counts as acknowledged. */
    public static StartPosition latest() {
        return LATEST;
    }

    /**
     * What was published at or after this time. Acknowledged messages come again only as far as the
     * subscription or its topic retains them.
     */
    public static StartPosition fromTimestamp(Instant timestamp) {
        return new StartPosition(
                Kind.TIMESTAMP, OptionChecks.notNull("timestamp", timestamp), null);
    }

    /**
     * The state that a snapshot of the subscription holds.
     *
     * @param name an id in the subscription's project, or a path {@code
     *     projects/<project>/snapshots/<id>}
     */
    public static StartPosition fromSnapshot(String name) {
        OptionChecks.notBlank("snapshot", name);
        if (name.contains("/") && !name.matches("projects/[^/]+/snapshots/[^/]+")) {
            throw new IllegalArgumentException(
                    "snapshot must be an id or of the form projects/<project>/snapshots/<id>: '"
                            + name
                            + "'");
        }
        return new StartPosition(Kind.SNAPSHOT, null, name);
    }

    /** What it does. */
    @Internal
    public Kind kind() {
        return kind;
    }

    /** The time of {@link Kind#TIMESTAMP}. */
    @Internal
    public Instant timestamp() {
        return Objects.requireNonNull(timestamp);
    }

    /** The path of the snapshot for a subscription of this project. */
    @Internal
    public String snapshotPath(String project) {
        Objects.requireNonNull(snapshot);
        return snapshot.contains("/") ? snapshot : "projects/" + project + "/snapshots/" + snapshot;
    }

    @Override
    public boolean equals(Object other) {
        if (!(other instanceof StartPosition)) {
            return false;
        }
        StartPosition that = (StartPosition) other;
        return kind == that.kind
                && Objects.equals(timestamp, that.timestamp)
                && Objects.equals(snapshot, that.snapshot);
    }

    @Override
    public int hashCode() {
        return Objects.hash(kind, timestamp, snapshot);
    }

    @Override
    public String toString() {
        switch (kind) {
            case EARLIEST:
                return "earliest-retained";
            case LATEST:
                return "latest";
            case TIMESTAMP:
                return "timestamp " + timestamp;
            case SNAPSHOT:
                return "snapshot " + snapshot;
            default:
                return "continue-from-subscription";
        }
    }
}

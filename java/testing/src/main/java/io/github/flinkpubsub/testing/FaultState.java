package io.github.flinkpubsub.testing;

/** How often a {@link Fault} matched and acted. */
public final class FaultState {
    private String id;
    private long matched;
    private long hits;

    private FaultState() {}

    /** Its name. */
    public String id() {
        return id;
    }

    /** Calls that it matched, hit or not. */
    public long matched() {
        return matched;
    }

    /** Calls that it hit. */
    public long hits() {
        return hits;
    }
}

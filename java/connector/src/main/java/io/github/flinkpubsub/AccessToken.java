package io.github.flinkpubsub;

import org.apache.flink.annotation.PublicEvolving;

import java.time.Instant;

/**
 * An OAuth 2.0 access token and its end, as an {@link AccessTokenProvider} gives it. It is not
 * serializable, so that none gets into a job graph or a checkpoint, and {@link #toString()} does
 * not show it.
 */
@PublicEvolving
public final class AccessToken {

    private final String value;
    private final Instant expiry;

    private AccessToken(String value, Instant expiry) {
        this.value = value;
        this.expiry = expiry;
    }

    /**
     * @param value the token alone, without "Bearer"
     * @param expiry when the service ceases to accept it
     */
    public static AccessToken of(String value, Instant expiry) {
        OptionChecks.notBlank("the access token", value);
        OptionChecks.notNull("the expiry of an access token", expiry);
        return new AccessToken(value, expiry);
    }

    /** The token: a secret. */
    public String value() {
        return value;
    }

    /** When the service ceases to accept it. */
    public Instant expiry() {
        return expiry;
    }

    /** Without the token itself. */
    @Override
    public String toString() {
        return "AccessToken(until " + expiry + ")";
    }
}

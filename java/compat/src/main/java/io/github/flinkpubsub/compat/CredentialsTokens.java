package io.github.flinkpubsub.compat;

import com.google.auth.Credentials;
import com.google.auth.oauth2.OAuth2Credentials;

import io.github.flinkpubsub.AccessToken;
import io.github.flinkpubsub.AccessTokenProvider;

import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.Date;
import java.util.List;
import java.util.Map;

/**
 * Tokens from Google's Java credentials for the native client. It travels with the job, and so does
 * the credentials object, in its serialized form.
 */
final class CredentialsTokens implements AccessTokenProvider {

    private static final long serialVersionUID = 1L;

    private static final URI SERVICE = URI.create("https://pubsub.googleapis.com/");
    private static final String BEARER = "Bearer ";

    /** A token that ends sooner is renewed; the native client asks 4 minutes before the end. */
    private static final Duration LEAST_LIFE = Duration.ofMinutes(5);

    /**
     * What is assumed of a token that does not say when it ends: the credentials, which know, are
     * asked again after half of it.
     */
    private static final Duration UNKNOWN_LIFE = Duration.ofMinutes(2);

    private final Credentials credentials;
    private transient Credentials scoped;
    private transient boolean renew;

    private CredentialsTokens(Credentials credentials) {
        this.credentials = credentials;
    }

    /**
     * @throws IllegalArgumentException for credentials that are none
     */
    static CredentialsTokens of(Credentials credentials) {
        if (credentials instanceof EmulatorCredentials) {
            throw new IllegalArgumentException(
                    "withCredentials: EmulatorCredentials are for an emulator, which the source"
                            + " finds by a PubSubSubscriberFactoryForEmulator and the sink by"
                            + " withHostAndPortForEmulator");
        }
        return new CredentialsTokens(credentials);
    }

    @Override
    public void open() {
        scoped = Scopes.added(credentials);
    }

    @Override
    public AccessToken token() throws IOException {
        boolean forced = renew;
        renew = false;
        return scoped instanceof OAuth2Credentials
                ? fromOAuth((OAuth2Credentials) scoped, forced)
                : fromHeaders(forced);
    }

    private static AccessToken fromOAuth(OAuth2Credentials oauth, boolean forced)
            throws IOException {
        if (forced) {
            oauth.refresh();
        } else {
            oauth.refreshIfExpired();
        }
        Date end = oauth.getAccessToken().getExpirationTime();
        if (!forced && end != null && end.toInstant().isBefore(Instant.now().plus(LEAST_LIFE))) {
            oauth.refresh();
        }
        com.google.auth.oauth2.AccessToken token = oauth.getAccessToken();
        return AccessToken.of(token.getTokenValue(), expiry(token));
    }

    private static Instant expiry(com.google.auth.oauth2.AccessToken token) {
        return token.getExpirationTime() == null
                ? Instant.now().plus(UNKNOWN_LIFE)
                : token.getExpirationTime().toInstant();
    }

    private AccessToken fromHeaders(boolean forced) throws IOException {
        if (forced) {
            scoped.refresh();
        }
        for (Map.Entry<String, List<String>> header :
                scoped.getRequestMetadata(SERVICE).entrySet()) {
            for (String value : header.getValue()) {
                if (header.getKey().equalsIgnoreCase("authorization") && value.startsWith(BEARER)) {
                    return AccessToken.of(
                            value.substring(BEARER.length()), Instant.now().plus(UNKNOWN_LIFE));
                }
            }
        }
        throw new IOException(
                "withCredentials: "
                        + credentials.getClass().getName()
                        + " gives no bearer token for Pub/Sub");
    }

    @Override
    public void refused(AccessToken token) {
        renew = true;
    }
}

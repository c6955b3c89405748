package io.github.flinkpubsub.compat;

import com.google.auth.Credentials;
import com.google.auth.oauth2.GoogleCredentials;

import java.util.List;

/** What Pub/Sub asks of a token. */
final class Scopes {

    private static final List<String> PUBSUB =
            List.of(
                    "https://www.googleapis.com/auth/cloud-platform",
                    "https://www.googleapis.com/auth/pubsub");

    private Scopes() {}

    /** The credentials, with these scopes when they need some and have none. */
    static Credentials added(Credentials credentials) {
        if (credentials instanceof GoogleCredentials
                && ((GoogleCredentials) credentials).createScopedRequired()) {
            return ((GoogleCredentials) credentials).createScoped(PUBSUB);
        }
        return credentials;
    }
}

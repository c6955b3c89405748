package io.github.flinkpubsub.connection;

import io.github.flinkpubsub.AccessToken;
import io.github.flinkpubsub.AccessTokenProvider;

import java.time.Instant;

/** Always the same token. */
final class StaticToken implements AccessTokenProvider {

    private static final long serialVersionUID = 1L;

    private final String token;

    StaticToken(String token) {
        this.token = token;
    }

    @Override
    public AccessToken token() {
        return AccessToken.of(token, Instant.now().plusSeconds(3_600));
    }
}

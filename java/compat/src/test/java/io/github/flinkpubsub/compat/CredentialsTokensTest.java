package io.github.flinkpubsub.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.auth.oauth2.AccessToken;
import com.google.auth.oauth2.OAuth2Credentials;

import org.apache.flink.util.InstantiationUtil;
import org.junit.jupiter.api.Test;

import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.Date;
import java.util.List;
import java.util.Map;

class CredentialsTokensTest {

    /** Answers numbered tokens of a given life. */
    private static final class Numbered extends OAuth2Credentials {

        private static final long serialVersionUID = 1L;

        private final Duration life;
        private int refreshes;

        Numbered(Duration life) {
            this.life = life;
        }

        @Override
        public AccessToken refreshAccessToken() {
            refreshes++;
            return new AccessToken(
                    "token-" + refreshes,
                    life == null ? null : Date.from(Instant.now().plus(life)));
        }
    }

    private static CredentialsTokens opened(com.google.auth.Credentials credentials)
            throws Exception {
        CredentialsTokens tokens = InstantiationUtil.clone(CredentialsTokens.of(credentials));
        tokens.open();
        return tokens;
    }

    @Test
    void aTokenIsKeptWhileItIsGood() throws Exception {
        CredentialsTokens tokens = opened(new Numbered(Duration.ofHours(1)));
        io.github.flinkpubsub.AccessToken first = tokens.token();
        assertThat(first.value()).isEqualTo("token-1");
        assertThat(first.expiry())
                .isBetween(
                        Instant.now().plus(Duration.ofMinutes(50)),
                        Instant.now().plus(Duration.ofMinutes(61)));
        assertThat(tokens.token().value()).isEqualTo("token-1");
    }

    @Test
    void aTokenThatEndsSoonIsRenewed() throws Exception {
        CredentialsTokens tokens = opened(new Numbered(Duration.ofMinutes(4)));
        String first = tokens.token().value();
        assertThat(tokens.token().value()).isNotEqualTo(first);
    }

    @Test
    void aTokenThatWasRefusedIsRenewedOnce() throws Exception {
        CredentialsTokens tokens = opened(new Numbered(Duration.ofHours(1)));
        tokens.refused(tokens.token());
        assertThat(tokens.token().value()).isEqualTo("token-2");
        assertThat(tokens.token().value()).isEqualTo("token-2");
    }

    @Test
    void othersThanOAuthTellTheirTokenInAHeader() throws Exception {
        io.github.flinkpubsub.AccessToken token = opened(new Named("me")).token();
        assertThat(token.value()).isEqualTo("me");
        assertThat(token.expiry()).isBefore(Instant.now().plus(Duration.ofMinutes(3)));
    }

    @Test
    void credentialsWithoutABearerTokenAreNamed() throws Exception {
        Named named = new Basic();
        assertThatThrownBy(() -> opened(named).token())
                .hasMessageContaining("Basic")
                .hasMessageContaining("no bearer token");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> CredentialsTokens.of(EmulatorCredentials.getInstance()))
                .withMessageContaining("emulator");
    }

    private static final class Basic extends Named {

        private static final long serialVersionUID = 1L;

        Basic() {
            super("x");
        }

        @Override
        public Map<String, List<String>> getRequestMetadata(URI uri) {
            return Map.of("authorization", List.of("Basic abc"));
        }
    }
}

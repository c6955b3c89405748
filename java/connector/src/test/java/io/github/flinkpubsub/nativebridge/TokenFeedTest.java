package io.github.flinkpubsub.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.flinkpubsub.AccessToken;
import io.github.flinkpubsub.AccessTokenProvider;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.io.IOException;
import java.time.Instant;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

@Timeout(value = 1, unit = TimeUnit.MINUTES)
class TokenFeedTest {

    /** What the providers of the test are to do, and what was done with them. */
    private static final BlockingQueue<Object> TOKENS = new LinkedBlockingQueue<>();

    private static final BlockingQueue<String> EVENTS = new LinkedBlockingQueue<>();

    private final FakeTaker taker = new FakeTaker();

    @BeforeEach
    @AfterEach
    void forget() {
        TOKENS.clear();
        EVENTS.clear();
    }

    private TokenFeed.Lease acquire(AccessTokenProvider provider, NativeOptions options)
            throws IOException {
        return TokenFeed.acquire(
                provider,
                options,
                () -> {
                    EVENTS.add("new taker");
                    return taker;
                });
    }

    private static void next(String... events) throws InterruptedException {
        for (String event : events) {
            assertThat(EVENTS.poll(30, TimeUnit.SECONDS)).isEqualTo(event);
        }
    }

    private static AccessToken token(String value, long seconds) {
        return AccessToken.of(value, Instant.now().plusSeconds(seconds));
    }

    @Test
    void equalProvidersShareOneFeed() throws Exception {
        TOKENS.add(token("t1", 3_600));
        NativeOptions options = new NativeOptions();
        NativeOptions others = new NativeOptions();
        TokenFeed.Lease first = acquire(new Provider("a"), options);
        TokenFeed.Lease second = acquire(new Provider("a"), others);
        assertThat(options.asMap()).containsEntry("access-tokens", "77");
        assertThat(others.asMap()).containsEntry("access-tokens", "77");
        next("new taker", "open a", "hand t1");
        assertThat(taker.lastValidMillis).isBetween(3_500_000L, 3_600_000L);
        first.release();
        first.release();
        assertThat(taker.closed).isFalse();
        second.release();
        next("close a");
        assertThat(EVENTS).isEmpty();

        // Closed for good: the next client begins anew.
        taker.closed = false;
        TOKENS.add(token("t2", 3_600));
        TokenFeed.Lease third = acquire(new Provider("a"), options);
        next("new taker", "open a", "hand t2");
        third.release();
        next("close a");
    }

    @Test
    void differentProvidersDoNotShare() throws Exception {
        TOKENS.add(token("t1", 3_600));
        TokenFeed.Lease one = acquire(new Provider("a"), new NativeOptions());
        next("new taker", "open a", "hand t1");
        TOKENS.add(token("t2", 3_600));
        TokenFeed.Lease other = acquire(new Provider("b"), new NativeOptions());
        next("new taker", "open b", "hand t2");
        one.release();
        other.release();
        next("close a", "close b");
    }

    @Test
    void aNewTokenIsFetchedBeforeTheOldOneEndsAndWhenItIsRefused() throws Exception {
        TOKENS.add(token("short", 2));
        TOKENS.add(token("long", 3_600));
        TOKENS.add(token("longer", 3_600));
        TokenFeed.Lease lease = acquire(new Provider("a"), new NativeOptions());
        long begin = System.nanoTime();
        next("new taker", "open a", "hand short", "hand long");
        assertThat(System.nanoTime() - begin).isLessThan(20_000_000_000L);
        taker.demands.add(TokenTaker.REFUSED);
        next("refused long", "hand longer");
        TOKENS.add(token("longest", 3_600));
        taker.demands.add(TokenTaker.WANTED);
        next("hand longest");
        lease.release();
        next("close a");
    }

    @Test
    void failuresAreToldAndTriedAgain() throws Exception {
        TOKENS.add(new IOException("first"));
        TOKENS.add(token("old", -1));
        TOKENS.add(new IllegalStateException("third"));
        TOKENS.add(token("good", 3_600));
        TokenFeed.Lease lease = acquire(new Provider("a"), new NativeOptions());
        next("new taker", "open a");
        assertThat(EVENTS.poll(30, TimeUnit.SECONDS))
                .isEqualTo("fail the accessTokenProvider has none: java.io.IOException: first");
        assertThat(EVENTS.poll(30, TimeUnit.SECONDS))
                .startsWith("fail the accessTokenProvider has none:")
                .contains("its token ended at")
                .doesNotContain("old");
        assertThat(EVENTS.poll(30, TimeUnit.SECONDS)).endsWith("third");
        next("hand good");
        lease.release();
        next("close a");
    }

    @Test
    void aProviderThatCannotBeOpenedIsFinal() throws Exception {
        TokenFeed.Lease lease = acquire(new Provider("broken"), new NativeOptions());
        next(
                "new taker",
                "open broken",
                "fail for good the accessTokenProvider cannot be opened: java.io.IOException:"
                        + " broken",
                "close broken");
        lease.release();
        assertThat(taker.closed).isTrue();
    }

    @Test
    void closingInterruptsAFetch() throws Exception {
        TokenFeed.Lease lease = acquire(new Provider("a"), new NativeOptions());
        next("new taker", "open a");
        // The provider waits for what it is to answer.
        lease.release();
        next("close a");
        assertThat(EVENTS).isEmpty();
    }

    @Test
    void aTokenHidesItself() {
        AccessToken token = AccessToken.of("s3cret", Instant.EPOCH);
        assertThat(token).hasToString("AccessToken(until 1970-01-01T00:00:00Z)");
        assertThat(token.value()).isEqualTo("s3cret");
        assertThatThrownBy(() -> AccessToken.of(" ", Instant.EPOCH))
                .hasMessage("the access token must not be null or blank");
        assertThatThrownBy(() -> AccessToken.of("t", null))
                .hasMessage("the expiry of an access token must not be null");
    }

    @Test
    void withoutAProviderNothingHappens() throws Exception {
        NativeOptions options = new NativeOptions();
        TokenFeed.acquire(options).release();
        assertThat(options.asMap()).isEmpty();
    }

    private static final class Provider implements AccessTokenProvider {

        private static final long serialVersionUID = 1L;

        private final String name;

        Provider(String name) {
            this.name = name;
        }

        @Override
        public void open() throws IOException {
            EVENTS.add("open " + name);
            if (name.equals("broken")) {
                throw new IOException(name);
            }
        }

        @Override
        public AccessToken token() throws Exception {
            Object next = TOKENS.take();
            if (next instanceof Exception) {
                throw (Exception) next;
            }
            return (AccessToken) next;
        }

        @Override
        public void refused(AccessToken token) {
            EVENTS.add("refused " + token.value());
            throw new IllegalStateException("a provider's own trouble changes nothing");
        }

        @Override
        public void close() {
            EVENTS.add("close " + name);
        }
    }

    private static final class FakeTaker implements TokenTaker {

        private final BlockingQueue<Integer> demands = new LinkedBlockingQueue<>();
        private volatile long lastValidMillis;
        private volatile boolean closed;

        @Override
        public long handle() {
            return 77;
        }

        @Override
        public void hand(String token, long validMillis) {
            lastValidMillis = validMillis;
            EVENTS.add("hand " + token);
        }

        @Override
        public void fail(String why, boolean permanent) {
            EVENTS.add((permanent ? "fail for good " : "fail ") + why);
        }

        @Override
        public int await(long timeoutMillis) {
            try {
                Integer demand = demands.poll(timeoutMillis, TimeUnit.MILLISECONDS);
                return demand == null ? NOTHING : demand;
            } catch (InterruptedException e) {
                return CLOSED;
            }
        }

        @Override
        public void close() {
            closed = true;
        }
    }
}

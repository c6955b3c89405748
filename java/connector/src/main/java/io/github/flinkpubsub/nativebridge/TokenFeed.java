package io.github.flinkpubsub.nativebridge;

import io.github.flinkpubsub.AccessToken;
import io.github.flinkpubsub.AccessTokenProvider;

import org.apache.flink.annotation.Internal;
import org.apache.flink.util.InstantiationUtil;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

import javax.annotation.Nullable;

/**
 * Fetches the tokens of one {@link AccessTokenProvider} on a thread of its own and hands them to
 * the native library. All clients of this process whose providers are the same share one.
 */
@Internal
final class TokenFeed implements Runnable {

    private static final Logger LOG = LoggerFactory.getLogger(TokenFeed.class);

    /** The option that names the feed to the library. */
    static final String OPTION = "access-tokens";

    /** Google's own libraries renew tokens as early. */
    private static final Duration BEFORE_THE_END = Duration.ofMinutes(4);

    private static final long FIRST_PAUSE_MILLIS = 100;
    private static final long LONGEST_PAUSE_MILLIS = 10_000;

    /** No wait in the library is longer. */
    private static final long LONGEST_WAIT_MILLIS = 60_000;

    private static final long STOP_MILLIS = 1_000;

    private static final Map<List<Object>, TokenFeed> FEEDS = new HashMap<>();

    private final AccessTokenProvider provider;
    private final TokenTaker taker;
    private final Clock clock;
    private final Thread thread;

    /** How many clients use it; guarded by {@link #FEEDS}. */
    private int users;

    /** Guarded by this. */
    private boolean closed;

    /** How often in a row there was no token, or one that was refused. */
    private int troubles;

    @Nullable private AccessToken last;

    TokenFeed(AccessTokenProvider provider, TokenTaker taker, Clock clock) {
        this.provider = provider;
        this.taker = taker;
        this.clock = clock;
        thread = new Thread(this, "pubsub-access-tokens");
        thread.setDaemon(true);
    }

    /** Held by a client for as long as it lives. */
    @Internal
    interface Lease {
        void release();
    }

    /** Finds or starts the feed that the options ask for, and names it in them. */
    static Lease acquire(NativeOptions options) throws IOException {
        AccessTokenProvider provider = options.accessTokenProvider();
        if (provider == null) {
            return () -> {};
        }
        return acquire(provider, options, TokenTaker::ofLibrary);
    }

    static Lease acquire(
            AccessTokenProvider provider, NativeOptions options, Supplier<TokenTaker> taker)
            throws IOException {
        // Classes of the same name from two class loaders may have the same serialized form.
        List<Object> key =
                Arrays.asList(
                        provider.getClass().getClassLoader(),
                        ByteBuffer.wrap(InstantiationUtil.serializeObject(provider)));
        synchronized (FEEDS) {
            TokenFeed feed = FEEDS.get(key);
            if (feed == null) {
                feed = new TokenFeed(provider, taker.get(), Clock.systemUTC());
                feed.thread.start();
                FEEDS.put(key, feed);
            }
            feed.users++;
            options.put(OPTION, feed.taker.handle());
            return new Use(key, feed);
        }
    }

    private static final class Use implements Lease {

        private final List<Object> key;
        private final TokenFeed feed;
        private boolean released;

        Use(List<Object> key, TokenFeed feed) {
            this.key = key;
            this.feed = feed;
        }

        @Override
        public synchronized void release() {
            if (released) {
                return;
            }
            released = true;
            synchronized (FEEDS) {
                if (--feed.users > 0) {
                    return;
                }
                FEEDS.remove(key, feed);
            }
            feed.close();
        }
    }

    /** Ends all, whoever has not released them: the clients are gone. */
    static void abandonAll() {
        List<TokenFeed> feeds;
        synchronized (FEEDS) {
            feeds = new ArrayList<>(FEEDS.values());
            FEEDS.clear();
        }
        feeds.forEach(TokenFeed::close);
    }

    /** Ends the thread; waits for it a little, as its code may go away with the class loader. */
    private void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
            notifyAll();
        }
        taker.close();
        thread.interrupt();
        try {
            thread.join(STOP_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void run() {
        try {
            if (openProvider()) {
                while (!isClosed()) {
                    awaitNeed(fetch());
                }
            }
        } catch (InterruptedException | IllegalStateException e) {
            if (!isClosed()) {
                LOG.error("Access tokens are no longer renewed", e);
                taker.fail("access tokens are no longer renewed: " + e, true);
            }
        } finally {
            try {
                provider.close();
            } catch (Throwable t) {
                LOG.warn("The accessTokenProvider cannot be closed", t);
            }
        }
    }

    private boolean openProvider() {
        try {
            provider.open();
            return true;
        } catch (Throwable t) {
            if (!isClosed()) {
                LOG.error("The accessTokenProvider cannot be opened", t);
                taker.fail("the accessTokenProvider cannot be opened: " + t, true);
            }
            return false;
        }
    }

    /** Hands over a new token; answers after how many milliseconds the next is due. */
    private long fetch() throws InterruptedException {
        try {
            AccessToken token = provider.token();
            if (token == null) {
                throw new IllegalArgumentException("it answered null");
            }
            long life = Duration.between(clock.instant(), token.expiry()).toMillis();
            if (life <= 0) {
                throw new IllegalArgumentException("its token ended at " + token.expiry());
            }
            taker.hand(token.value(), life);
            last = token;
            long early = BEFORE_THE_END.toMillis();
            return life > 2 * early ? life - early : life / 2;
        } catch (InterruptedException e) {
            throw e;
        } catch (Throwable t) {
            if (!isClosed()) {
                String why = "the accessTokenProvider has none: " + t;
                LOG.warn("{}; trying again", why);
                taker.fail(why, false);
            }
            return -1;
        }
    }

    /**
     * Returns when a token is due.
     *
     * @param dueMillis from now; negative when there was none
     */
    private void awaitNeed(long dueMillis) throws InterruptedException {
        if (dueMillis < 0) {
            pause();
            return;
        }
        long end = System.nanoTime() + dueMillis * 1_000_000;
        while (!isClosed()) {
            long left = (end - System.nanoTime()) / 1_000_000;
            if (left <= 0) {
                troubles = 0;
                return;
            }
            int demand = taker.await(Math.min(left, LONGEST_WAIT_MILLIS));
            if (demand == TokenTaker.CLOSED) {
                return;
            }
            if (demand == TokenTaker.REFUSED) {
                LOG.info("The service has refused an access token, fetching another");
                tellRefused();
            }
            if (demand != TokenTaker.NOTHING) {
                // The first time at once: a good token was withdrawn.
                if (troubles > 0) {
                    pause();
                } else {
                    troubles = 1;
                }
                return;
            }
        }
    }

    private void tellRefused() {
        try {
            provider.refused(last);
        } catch (Throwable t) {
            // Whatever it makes of it, the next token is asked for.
            LOG.warn("The accessTokenProvider has failed when its token was refused", t);
        }
    }

    private void pause() throws InterruptedException {
        long millis = FIRST_PAUSE_MILLIS << Math.min(troubles, 10);
        troubles++;
        long end = System.nanoTime() + Math.min(millis, LONGEST_PAUSE_MILLIS) * 1_000_000;
        synchronized (this) {
            long left;
            while (!closed && (left = (end - System.nanoTime()) / 1_000_000) > 0) {
                wait(left);
            }
        }
    }

    private synchronized boolean isClosed() {
        return closed;
    }
}

package io.github.flinkpubsub.nativebridge;

import org.apache.flink.annotation.Internal;

import java.nio.charset.StandardCharsets;

/** Who takes the access tokens: the native library, or a test. */
@Internal
interface TokenTaker {

    /** Nobody is in need of a token. */
    int NOTHING = 0;

    /** A call has no token. */
    int WANTED = 1;

    /** The service has refused the last token. */
    int REFUSED = 2;

    /** No token is taken any more. */
    int CLOSED = 3;

    /** Names the taker in the options of clients. */
    long handle();

    /**
     * Hands over a token.
     *
     * @throws IllegalArgumentException when it can be none
     */
    void hand(String token, long validMillis);

    /** Says why there is none, for calls that have none, and whether there will never be one. */
    void fail(String why, boolean permanent);

    /** Waits until a token is wanted, at most so long. */
    int await(long timeoutMillis);

    /** Ends a wait. */
    void close();

    /** The native library as the taker. */
    static TokenTaker ofLibrary() {
        long handle = TokenNatives.open();
        return new TokenTaker() {
            @Override
            public long handle() {
                return handle;
            }

            @Override
            public void hand(String token, long validMillis) {
                TokenNatives.hand(handle, token.getBytes(StandardCharsets.UTF_8), validMillis);
            }

            @Override
            public void fail(String why, boolean permanent) {
                TokenNatives.fail(handle, why.getBytes(StandardCharsets.UTF_8), permanent);
            }

            @Override
            public int await(long timeoutMillis) {
                return TokenNatives.await(handle, timeoutMillis);
            }

            @Override
            public void close() {
                TokenNatives.close(handle);
            }
        };
    }
}

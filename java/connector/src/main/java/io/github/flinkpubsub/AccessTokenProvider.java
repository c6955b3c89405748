package io.github.flinkpubsub;

import org.apache.flink.annotation.PublicEvolving;

import java.io.Serializable;

/**
 * Gets access tokens where neither Application Default Credentials nor a key file will do, such as
 * from a company's token service.
 *
 * <p>It travels with the job and should hold descriptions, not secrets. In each process it is
 * opened once and serves all sources and sinks whose providers have the same serialized form; it is
 * closed with the last of them. All its methods are called by one background thread, never by the
 * task's: {@link #token()} before the last token ends, and again after the service has refused it.
 */
@PublicEvolving
public interface AccessTokenProvider extends Serializable {

    /**
     * Called once, before the first token. An exception is final: the job fails with it.
     *
     * @throws Exception when there will be no tokens
     */
    default void open() throws Exception {}

    /**
     * A token that is valid now, for a good while if possible: a new one is asked for 4 minutes
     * before its end, or after half of its life when that is shorter than 8 minutes.
     *
     * @throws Exception when there is none now. It is called again, after 0.1 s at first and at
     *     most 10 s. The job goes on while the last token is valid.
     */
    AccessToken token() throws Exception;

    /**
     * The service has refused this token before its end. A provider that caches should not answer
     * it again.
     */
    default void refused(AccessToken token) {}

    /**
     * Called after the last token.
     *
     * @throws Exception is logged
     */
    default void close() throws Exception {}
}

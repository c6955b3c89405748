package io.github.flinkpubsub.conformance;

import com.google.api.gax.rpc.ApiException;
import com.google.api.gax.rpc.StatusCode;

import java.util.concurrent.TimeoutException;

/**
 * The scenarios with Google's Java client.
 *
 * <p>Arguments: {@code HOST:PORT [CONTROL_HOST:PORT]}. Prints a line {@code check<TAB>observed} for
 * each check of {@code checks.tsv}. With a control address, time is moved on the server; without
 * one, it passes.
 */
public final class Conformance {
    private Conformance() {}

    /** What a check does; the id is unique to it, for its topics and subscriptions. */
    interface Check {
        Object observe(String id) throws Exception;
    }

    /** What must be refused. */
    interface Refused {
        void attempt(String id) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        try (Server server = new Server(args[0], args.length > 1 ? args[1] : "")) {
            new Admin(server).run();
            new Messages(server).run();
            new Ordering(server).run();
            new DeadLetters(server).run();
            new Filters(server).run();
            new ExactlyOnce(server).run();
            new Seeks(server).run();
        }
        System.out.flush();
        // Google's client leaves threads behind.
        System.exit(0);
    }

    /** Prints what was observed: the answer, or the code of the call that failed. */
    static void check(String name, Check check) {
        Object observed;
        try {
            observed = check.observe(name.replace('/', '-'));
        } catch (ApiException e) {
            observed = code(e);
        } catch (TimeoutException e) {
            observed = "no answer";
        } catch (Exception | AssertionError e) {
            // One check that breaks must not hide the others.
            observed = e.toString().split("\n")[0];
        }
        System.out.println(name + "\t" + observed);
    }

    static void accepts(String name, Refused check) {
        check(
                name,
                id -> {
                    check.attempt(id);
                    return "accepted";
                });
    }

    static String code(ApiException e) {
        StatusCode.Code code = e.getStatusCode().getCode();
        return code == StatusCode.Code.UNAVAILABLE || code == StatusCode.Code.DEADLINE_EXCEEDED
                ? "no answer"
                : code.name();
    }
}

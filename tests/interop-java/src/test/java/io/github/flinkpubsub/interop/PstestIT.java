package io.github.flinkpubsub.interop;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.junit.jupiter.api.BeforeAll;

/** The connector on a server that nobody of this project wrote. */
class PstestIT extends InteropCases {
    @BeforeAll
    static void needsGo() {
        String missing = Pstest.binary() + " is missing: it is built where Go is installed";
        if ("true".equals(System.getenv("CI"))) {
            assertTrue(Pstest.isBuilt(), missing);
        }
        assumeTrue(Pstest.isBuilt(), missing);
    }

    @Override
    PubSubServer start() throws Exception {
        return Pstest.start();
    }
}

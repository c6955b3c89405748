package io.github.flinkpubsub.interop;

import io.github.flinkpubsub.testing.PubSubEmulator;

/** Google's Java client and the connector meet on the project's own server. */
class EmbeddedServerIT extends InteropCases {
    @Override
    PubSubServer start() throws Exception {
        PubSubEmulator emulator = PubSubEmulator.start();
        return new PubSubServer() {
            @Override
            public String endpoint() {
                return emulator.endpoint();
            }

            @Override
            public boolean keepsOrder() {
                return true;
            }

            @Override
            public int streams() {
                return 1;
            }

            @Override
            public void close() {
                emulator.close();
            }
        };
    }
}

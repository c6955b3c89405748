package io.github.flinkpubsub.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;

import java.util.ArrayList;
import java.util.List;

/** One server per class or per method, by the way the extension is registered. */
@Tag("integration")
class PubSubEmulatorExtensionIT {

    @Tag("integration")
    @ExtendWith(PubSubEmulatorExtension.class)
    static class ByParameterIT {
        private static PubSubEmulator ofTheClass;

        @BeforeAll
        static void create(PubSubEmulator emulator) {
            ofTheClass = emulator;
            emulator.createTopic("projects/p/topics/shared");
        }

        @RepeatedTest(2)
        void oneServerForTheClass(PubSubEmulator emulator, EmulatorControl control) {
            assertThat(emulator).isSameAs(ofTheClass);
            assertThat(control).isSameAs(emulator.control());
            assertThat(emulator.publish("projects/p/topics/shared", "a")).hasSize(1);
        }

        @Nested
        @Tag("integration")
        class NestedIT {
            @Test
            void nestedClassesShareIt(PubSubEmulator emulator) {
                assertThat(emulator).isSameAs(ofTheClass);
            }
        }
    }

    @Tag("integration")
    static class StaticFieldIT {
        @RegisterExtension
        static final PubSubEmulatorExtension PUBSUB =
                PubSubEmulatorExtension.withArguments("--record");

        @RegisterExtension
        static final PubSubEmulatorExtension OTHER = new PubSubEmulatorExtension();

        private static final List<String> ENDPOINTS = new ArrayList<>();

        @RepeatedTest(2)
        void oneServerForTheClass() {
            ENDPOINTS.add(PUBSUB.emulator().endpoint());
        }

        @Test
        void twoFieldsAreTwoServers() {
            assertThat(PUBSUB.emulator().endpoint()).isNotEqualTo(OTHER.emulator().endpoint());
        }

        @Test
        void argumentsReachTheServer() {
            PUBSUB.emulator().createTopic("projects/p/topics/orders");
            assertThat(PUBSUB.emulator().control().requests("CreateTopic")).hasSize(1);
        }

        @AfterAll
        static void check() {
            assertThat(ENDPOINTS).hasSize(2);
            assertThat(ENDPOINTS.get(0)).isEqualTo(ENDPOINTS.get(1));
        }
    }

    @Tag("integration")
    static class FieldIT {
        private static final List<PubSubEmulator> SERVERS = new ArrayList<>();

        @RegisterExtension final PubSubEmulatorExtension pubsub = new PubSubEmulatorExtension();

        @RepeatedTest(2)
        void oneServerForEachMethod() {
            PubSubEmulator emulator = pubsub.emulator();
            emulator.createTopic("projects/p/topics/mine");
            for (PubSubEmulator earlier : SERVERS) {
                assertThat(earlier).isNotSameAs(emulator);
                assertThatThrownBy(() -> earlier.control().calls())
                        .isInstanceOf(EmulatorException.class);
            }
            SERVERS.add(emulator);
        }

        @AfterAll
        static void check() {
            assertThat(SERVERS).hasSize(2);
        }
    }

    @Test
    void withoutRegistrationThereIsNoServer() {
        PubSubEmulatorExtension extension = new PubSubEmulatorExtension();
        assertThatThrownBy(extension::emulator)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("@RegisterExtension");
    }
}

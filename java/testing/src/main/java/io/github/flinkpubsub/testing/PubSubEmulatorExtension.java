package io.github.flinkpubsub.testing;

import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ExtensionContext.Store.CloseableResource;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

import java.io.IOException;
import java.io.UncheckedIOException;

/**
 * JUnit 5 extension with a {@link PubSubEmulator}.
 *
 * <p>One server per class, its nested classes included, with {@code @ExtendWith} or on a static
 * field:
 *
 * <pre>{@code
 * @ExtendWith(PubSubEmulatorExtension.class)
 * class OrdersTest {
 *     @Test
 *     void test(PubSubEmulator emulator) { … }
 * }
 *
 * class ReturnsTest {
 *     @RegisterExtension
 *     static final PubSubEmulatorExtension PUBSUB = new PubSubEmulatorExtension();
 *
 *     @Test
 *     void test() { PUBSUB.emulator().createTopic(…); }
 * }
 * }</pre>
 *
 * <p>One server per test method on a field that is not static. A server ends with its class or
 * method. Tests that share one share its topics too, until {@link EmulatorControl#reset()}.
 *
 * <p>Constructors, test methods and life-cycle methods may take {@code PubSubEmulator} and {@code
 * EmulatorControl} as parameters; a constructor only where the server is the class's.
 */
public final class PubSubEmulatorExtension
        implements BeforeAllCallback, BeforeEachCallback, AfterAllCallback, ParameterResolver {
    private final String[] arguments;
    private volatile PubSubEmulator current;

    /** Starts servers without more arguments. */
    public PubSubEmulatorExtension() {
        this(new String[0]);
    }

    private PubSubEmulatorExtension(String[] arguments) {
        this.arguments = arguments;
    }

    /** Starts servers with more arguments of the command line, such as {@code --record}. */
    public static PubSubEmulatorExtension withArguments(String... arguments) {
        return new PubSubEmulatorExtension(arguments.clone());
    }

    /**
     * The server of the running test.
     *
     * @throws IllegalStateException outside a test class with this extension
     */
    public PubSubEmulator emulator() {
        PubSubEmulator emulator = current;
        if (emulator == null) {
            throw new IllegalStateException(
                    "no server runs: PubSubEmulatorExtension must be registered with"
                            + " @RegisterExtension or @ExtendWith, and starts it before the first"
                            + " test");
        }
        return emulator;
    }

    @Override
    public void beforeAll(ExtensionContext context) {
        current = start(context);
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        current = start(context);
    }

    @Override
    public void afterAll(ExtensionContext context) {
        boolean nested = context.getRequiredTestClass().getEnclosingClass() != null;
        if (!nested) {
            current = null;
        }
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        Class<?> type = parameter.getParameter().getType();
        return type == PubSubEmulator.class || type == EmulatorControl.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        PubSubEmulator emulator = start(context);
        return parameter.getParameter().getType() == PubSubEmulator.class
                ? emulator
                : emulator.control();
    }

    /** The server of this context or of one around it; the context that has none gets one. */
    private PubSubEmulator start(ExtensionContext context) {
        return context.getStore(Namespace.create(PubSubEmulatorExtension.class, this))
                .getOrComputeIfAbsent("server", key -> new Running(arguments), Running.class)
                .emulator;
    }

    /** JUnit closes it with the context that it was started in. */
    private static final class Running implements CloseableResource {
        private final PubSubEmulator emulator;

        private Running(String[] arguments) {
            try {
                emulator = PubSubEmulator.start(arguments);
            } catch (IOException e) {
                throw new UncheckedIOException(e.getMessage(), e);
            }
        }

        @Override
        public void close() {
            emulator.close();
        }
    }
}

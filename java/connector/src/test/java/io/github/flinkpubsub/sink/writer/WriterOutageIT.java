package io.github.flinkpubsub.sink.writer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.flinkpubsub.TopicDestination;
import io.github.flinkpubsub.testing.Fault;
import io.github.flinkpubsub.testing.FaultAction;
import io.grpc.Status.Code;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;

/** When the service does not answer. */
class WriterOutageIT extends WriterOnServer {

    private static long secondsOf(ThrowingRunnable call) throws Exception {
        long start = System.nanoTime();
        call.run();
        return Duration.ofNanos(System.nanoTime() - start).toSeconds();
    }

    private interface ThrowingRunnable {
        void run() throws Exception;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void noProgressFailsByName(boolean ordering) throws Exception {
        options.publishProgressTimeout(Duration.ofSeconds(1)).enableMessageOrdering(ordering);
        server.control()
                .addFault(Fault.on("Publish", FaultAction.status(Code.UNAVAILABLE, "down")));
        open();
        for (int i = 0; i < 10; i++) {
            int number = i;
            write(
                    message ->
                            message.payload(utf8("m" + number)).orderingKey(ordering ? "k" : null));
        }
        assertThat(
                        secondsOf(
                                () ->
                                        assertThatThrownBy(() -> writer.flush(false))
                                                .hasStackTraceContaining("publishProgressTimeout")
                                                .hasStackTraceContaining("10 messages in flight")
                                                .hasStackTraceContaining("UNAVAILABLE")
                                                .hasStackTraceContaining(TOPIC.path())))
                .isBetween(1L, 10L);
    }

    @Test
    void everyCompletionStartsTheProgressTimeoutAnew() throws Exception {
        options.publishProgressTimeout(Duration.ofSeconds(2))
                .enableMessageOrdering(true)
                .batchElementCountThreshold(1);
        server.control().addFault(Fault.on("Publish", FaultAction.delay(Duration.ofMillis(500))));
        open();
        for (int i = 0; i < 8; i++) {
            writeKeyed("k", i);
        }
        assertThat(secondsOf(() -> writer.flush(false))).isGreaterThanOrEqualTo(3);
        assertThat(confirmed("k")).hasSize(8);
    }

    @Test
    void anInterruptEndsAFlushDuringAnOutage() throws Exception {
        server.control().addFault(Fault.on("Publish", FaultAction.silence()));
        open();
        writeText("a");
        Thread task = Thread.currentThread();
        Thread interrupter =
                new Thread(
                        () -> {
                            while (server.control().faults().get(0).hits() == 0) {
                                Thread.onSpinWait();
                            }
                            task.interrupt();
                        });
        interrupter.start();
        assertThatThrownBy(() -> writer.flush(false)).isInstanceOf(InterruptedException.class);
        interrupter.join();
        assertThat(secondsOf(() -> writer.close())).isLessThan(5);
    }

    @Test
    void memoryStaysWithinTheBoundsWhenNothingIsConfirmed() throws Exception {
        options.maxInFlightBytes(1_000_000);
        String silent = server.control().addFault(Fault.on("Publish", FaultAction.hold()));
        open();
        Thread release =
                new Thread(
                        () -> {
                            while (gauge("inFlightBytes") < 700_000) {
                                Thread.onSpinWait();
                            }
                            server.control().removeFault(silent);
                        });
        release.start();
        long most = 0;
        for (int i = 0; i < 5_000; i++) {
            writeText("x".repeat(1_000));
            most = Math.max(most, gauge("inFlightBytes"));
        }
        writer.flush(false);
        release.join();
        assertThat(most).isBetween(700_000L, 1_000_000L);
        assertThat(counter("numRecordsSend")).isEqualTo(5_000);
    }

    @Test
    void theGaugeOfNativeMemoryCountsWhatIsInFlightAndFallsWhenItIsGivenBack() throws Exception {
        open();
        long before = gauge("nativeMemoryBytes");
        assertThat(before).isPositive();
        String silent = server.control().addFault(Fault.on("Publish", FaultAction.hold()));
        for (int i = 0; i < 16; i++) {
            writeText("x".repeat(1_000_000));
        }
        assertThat(gauge("inFlightBytes")).isGreaterThanOrEqualTo(16_000_000L);
        assertThat(gauge("nativeMemoryBytes") - before).isBetween(16_000_000L, 64_000_000L);
        server.control().removeFault(silent);
        writer.flush(false);
        writer.close();
        long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
        while (gauge("nativeMemoryBytes") - before > 4_000_000) {
            assertThat(System.nanoTime()).as("deadline").isLessThan(deadline);
            Thread.onSpinWait();
        }
    }

    @Test
    void closingAfterAnOutageTakesTheShutdownTimeoutForAllTopicsTogether() throws Exception {
        options.shutdownTimeout(Duration.ofSeconds(1));
        server.control().addFault(Fault.on("Publish", FaultAction.silence()));
        destination = (element, context) -> TopicDestination.of("p", "topic-" + (counted++ % 20));
        open();
        for (int i = 0; i < 100; i++) {
            writeText("m" + i);
        }
        assertThat(secondsOf(() -> writer.close())).isBetween(1L, 4L);
        assertThat(secondsOf(() -> writer.close())).isZero();
    }

    private int counted;

    @Test
    void closingDuringAnOutageEndsInSeconds() throws Exception {
        server.control().addFault(Fault.on("Publish", FaultAction.silence()));
        open();
        writeText("a");
        assertThat(secondsOf(() -> writer.close())).isBetween(3L, 6L);
    }

    @Test
    void closingWaitsForAServiceThatIsSlow() throws Exception {
        options.enableMessageOrdering(true).batchElementCountThreshold(1);
        server.control().addFault(Fault.on("Publish", FaultAction.delay(Duration.ofMillis(1_200))));
        open();
        for (int i = 0; i < 4; i++) {
            writeKeyed("k", i);
        }
        writer.close();
        assertThat(confirmed("k")).hasSize(4);
    }

    @Test
    void closingPublishesWhatIsLeft() throws Exception {
        options.batchDelayThreshold(Duration.ofHours(1));
        open();
        writeText("a");
        writer.close();
        assertThat(payloads(server.pull(SUB, 10))).containsExactly("a");
    }
}

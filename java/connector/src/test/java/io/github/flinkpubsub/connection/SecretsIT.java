package io.github.flinkpubsub.connection;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.flinkpubsub.AccessToken;
import io.github.flinkpubsub.AccessTokenProvider;
import io.github.flinkpubsub.sink.PubSubSink;
import io.github.flinkpubsub.source.PubSubSource;

import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.ExternalizedCheckpointRetention;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.Metric;
import org.apache.flink.metrics.MetricConfig;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.reporter.MetricReporter;
import org.apache.flink.metrics.reporter.MetricReporterFactory;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.InstantiationUtil;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Looks for the key and the tokens of a job wherever it leaves anything: logs of all levels, the
 * job graph, checkpoints, metrics, exceptions and texts of objects.
 */
@Tag("integration")
@Tag("flink2")
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class SecretsIT {

    private static final String ISSUED = "s3cret-of-the-token-service";
    private static final String PROVIDED = "s3cret-of-the-provider";

    @Test
    void nothingOfThemIsLeftAnywhere(@TempDir Path dir, @TempDir Path output) throws Exception {
        try (TokenService tokens = TokenService.start(ISSUED);
                SecureServer secure = SecureServer.start(dir, "--require-token", ISSUED)) {
            Path keyFile = dir.resolve("key.json");
            tokens.writeKeyFile(keyFile);
            secure.server.publish(SecureServer.INPUT, "text");
            Path logs = dir.resolve("log4j2.properties");
            Files.writeString(
                    logs,
                    "rootLogger.level = TRACE\n"
                            + "rootLogger.appenderRef.console.ref = console\n"
                            + "appender.console.name = console\n"
                            + "appender.console.type = Console\n"
                            + "appender.console.layout.type = PatternLayout\n"
                            + "appender.console.layout.pattern = %p %c - %m%n\n");
            String printed =
                    new ChildJvm(
                                    output,
                                    Job.class,
                                    List.of("-Dlog4j.configurationFile=" + logs),
                                    secure.server.endpoint(),
                                    secure.certificate.file(),
                                    keyFile.toString(),
                                    output.toString())
                            .run(150);
            // What is searched is all there.
            assertThat(printed)
                    .containsPattern("(TRACE|DEBUG|INFO|WARN) io\\.github\\.flinkpubsub")
                    .contains("metric messagesReceived")
                    .contains("UNAUTHENTICATED");
            assertThat(output.resolve("job-graph")).isNotEmptyFile();
            assertThat(files(output.resolve("checkpoints"))).isNotEmpty();
            assertThat(tokens.asked()).isPositive();

            List<String> secrets = new ArrayList<>(List.of(ISSUED, PROVIDED));
            Stream.of(tokens.privateKey().split("\n"))
                    .filter(line -> line.length() >= 20 && !line.startsWith("-----"))
                    .forEach(secrets::add);
            for (Path file : files(output)) {
                String content = Files.readString(file, StandardCharsets.ISO_8859_1);
                for (String secret : secrets) {
                    int at = content.indexOf(secret);
                    assertThat(at)
                            .as(() -> file + ": " + content.substring(Math.max(0, at - 200), at))
                            .isNegative();
                }
            }
        }
    }

    private static List<Path> files(Path directory) throws Exception {
        List<Path> files = new ArrayList<>();
        try (Stream<Path> found = Files.walk(directory)) {
            found.filter(Files::isRegularFile).forEach(files::add);
        }
        return files;
    }

    /** Two jobs: one that works, with a key file, and one whose tokens are refused. */
    static final class Job {

        private Job() {}

        public static void main(String[] arguments) throws Exception {
            String endpoint = arguments[0];
            String ca = arguments[1];
            String keyFile = arguments[2];
            Path output = Path.of(arguments[3]);
            Configuration configuration = new Configuration();
            configuration.set(CheckpointingOptions.CHECKPOINT_STORAGE, "filesystem");
            configuration.set(
                    CheckpointingOptions.CHECKPOINTS_DIRECTORY,
                    output.resolve("checkpoints").toUri().toString());
            configuration.set(
                    CheckpointingOptions.EXTERNALIZED_CHECKPOINT_RETENTION,
                    ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION);
            // None is deleted while the files are looked through.
            configuration.set(CheckpointingOptions.MAX_RETAINED_CHECKPOINTS, 10_000);
            configuration.setString("metrics.reporters", "printing");
            configuration.setString(
                    "metrics.reporter.printing.factory.class", PrintingReporter.class.getName());
            StreamExecutionEnvironment env = CopyJob.environment(configuration);
            PubSubSource<String> source =
                    CopyJob.source()
                            .endpoint(endpoint)
                            .caCertificateFile(ca)
                            .serviceAccountKeyFile(keyFile)
                            .build();
            PubSubSink<String> sink =
                    CopyJob.sink()
                            .endpoint(endpoint)
                            .caCertificateFile(ca)
                            .serviceAccountKeyFile(keyFile)
                            .build();
            System.out.println(source + " " + sink);
            CopyJob.build(env, source, sink);
            Files.write(
                    output.resolve("job-graph"),
                    InstantiationUtil.serializeObject(env.getStreamGraph(false).getJobGraph()));
            JobClient working = env.executeAsync();
            awaitCheckpoint(output.resolve("checkpoints"));
            working.cancel().get();

            System.out.println(new StaticToken(PROVIDED).token());
            JobClient refused =
                    CopyJob.start(
                            CopyJob.source()
                                    .endpoint(endpoint)
                                    .caCertificateFile(ca)
                                    .accessTokenProvider(new Refused())
                                    .build(),
                            CopyJob.sink()
                                    .endpoint(endpoint)
                                    .caCertificateFile(ca)
                                    .accessTokenProvider(new Refused())
                                    .build());
            try {
                refused.getJobExecutionResult().get(60, TimeUnit.SECONDS);
                throw new AssertionError("the tokens should have been refused");
            } catch (ExecutionException e) {
                e.printStackTrace(System.out);
            }
            System.exit(0);
        }
    }

    /** With the state of an enumerator that has set up its subscription. */
    private static void awaitCheckpoint(Path directory) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (true) {
            for (Path file : Files.exists(directory) ? files(directory) : List.<Path>of()) {
                if (file.endsWith("_metadata")
                        && Files.readString(file, StandardCharsets.ISO_8859_1)
                                .contains(SecureServer.INPUT_SUB)) {
                    return;
                }
            }
            if (System.nanoTime() > deadline) {
                throw new AssertionError("no checkpoint");
            }
        }
    }

    /** The token is made where the job runs, so it is in no job graph by itself. */
    static final class Refused implements AccessTokenProvider {

        private static final long serialVersionUID = 1L;

        @Override
        public AccessToken token() {
            return new StaticToken(PROVIDED).token();
        }
    }

    /** Prints every metric once it is gone, with its value and scope. */
    public static final class PrintingReporter implements MetricReporter, MetricReporterFactory {

        @Override
        public MetricReporter createMetricReporter(Properties properties) {
            return this;
        }

        @Override
        public void open(MetricConfig config) {}

        @Override
        public void close() {}

        @Override
        public void notifyOfAddedMetric(Metric metric, String name, MetricGroup group) {}

        @Override
        public void notifyOfRemovedMetric(Metric metric, String name, MetricGroup group) {
            Object value =
                    metric instanceof Gauge ? ((Gauge<?>) metric).getValue() : metric.toString();
            System.out.println(
                    "metric "
                            + name
                            + " "
                            + value
                            + " "
                            + Arrays.toString(group.getScopeComponents())
                            + group.getAllVariables());
        }
    }
}

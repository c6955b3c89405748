package io.github.flinkpubsub.cluster;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A standalone session cluster of one job manager and task managers with two slots each, as
 * processes of their own on free ports of 127.0.0.1. All its files are in a folder of {@code
 * target/cluster}, which is emptied at the start and left behind for reading. Ends with {@link
 * #close()}, and at the latest with this JVM.
 */
final class FlinkCluster implements AutoCloseable {
    static final int SLOTS = 2;

    /** For what takes seconds on an idle machine. */
    static final Duration LIMIT = Duration.ofMinutes(2);

    private static final Path HOME = property("flink");
    private static final Path WORK = property("work");

    private final Path folder;
    private final Path logs;
    private final Map<String, String> environment;
    private final Map<String, GuardedProcess> taskManagers = new LinkedHashMap<>();
    private final Rest rest;
    private final Cli cli;

    private GuardedProcess jobManager;
    private int started;

    private FlinkCluster(String name, List<Path> lib) throws IOException {
        folder = WORK.resolve(name);
        delete(folder);
        logs = Files.createDirectories(folder.resolve("log"));
        Files.createDirectories(folder.resolve("tmp"));
        link("lib", lib);
        link("opt", List.of(property("gateway")));
        int restPort = freePort();
        configure(freePort(), restPort);
        environment =
                Map.of(
                        "JAVA_HOME", System.getProperty("java.home"),
                        "FLINK_CONF_DIR", folder.resolve("conf").toString(),
                        "FLINK_LIB_DIR", folder.resolve("lib").toString(),
                        "FLINK_OPT_DIR", folder.resolve("opt").toString(),
                        "FLINK_LOG_DIR", logs.toString(),
                        "FLINK_PID_DIR", folder.resolve("tmp").toString(),
                        "FLINK_IDENT_STRING", name,
                        "TMPDIR", folder.resolve("tmp").toString());
        rest = new Rest(restPort);
        cli = new Cli(HOME, environment, logs);
    }

    /**
     * Starts a cluster with two task managers and waits until their slots are there.
     *
     * @param name of its folder
     * @param lib jars of its {@code lib} folder beside Flink's
     */
    static FlinkCluster start(String name, Path... lib) throws IOException {
        FlinkCluster cluster = new FlinkCluster(name, List.of(lib));
        try {
            cluster.startJobManager();
            cluster.startTaskManager();
            cluster.startTaskManager();
            cluster.awaitFreeSlots(2 * SLOTS);
            return cluster;
        } catch (IOException | RuntimeException | Error e) {
            cluster.close();
            throw e;
        }
    }

    /**
     * A path that the build names: {@code flink}, {@code connector}, {@code jobs}, {@code bundle},
     * {@code data}, {@code python}, {@code pyflink}.
     */
    static Path property(String name) {
        String value = System.getProperty("pubsub.cluster." + name);
        if (value == null) {
            throw new IllegalStateException("pubsub.cluster." + name + " is not set");
        }
        return Paths.get(value);
    }

    Rest rest() {
        return rest;
    }

    Cli cli() {
        return cli;
    }

    /** Where savepoints and files of tests go. */
    Path folder() {
        return folder;
    }

    GuardedProcess jobManager() {
        return jobManager;
    }

    /** By resource id. */
    Map<String, GuardedProcess> taskManagers() {
        return taskManagers;
    }

    void startJobManager() throws IOException {
        jobManager = daemon("jobmanager", "jobmanager-" + ++started);
    }

    void startTaskManager() throws IOException {
        String id = "taskmanager-" + ++started;
        taskManagers.put(id, daemon("taskmanager", id, "-Dtaskmanager.resource-id=" + id));
    }

    /** {@code kill -9}. */
    void killTaskManager(String id) {
        taskManagers.remove(id).kill();
    }

    /** {@code kill -9}. */
    void killJobManager() {
        jobManager.kill();
    }

    /**
     * Starts a SQL gateway, which the caller ends, and waits until it answers.
     *
     * @param port of 127.0.0.1 for its REST endpoint
     */
    GuardedProcess startGateway(int port) throws IOException {
        GuardedProcess gateway =
                daemon(
                        "sql-gateway",
                        "sql-gateway-" + ++started,
                        "-Dsql-gateway.endpoint.rest.address=127.0.0.1",
                        "-Dsql-gateway.endpoint.rest.bind-address=127.0.0.1",
                        "-Dsql-gateway.endpoint.rest.port=" + port,
                        // Without it, the job manager's.
                        "-Dsql-gateway.endpoint.rest.bind-port=" + port);
        try {
            Await.until(
                    "an answer of the SQL gateway, see " + logs,
                    LIMIT,
                    () -> {
                        new URL("http://127.0.0.1:" + port + "/v1/info").openStream().close();
                        return true;
                    });
        } catch (Throwable t) {
            gateway.close();
            throw t;
        }
        return gateway;
    }

    void awaitFreeSlots(int slots) {
        Await.until("free slots in " + folder, LIMIT, rest::freeSlots, free -> free == slots);
    }

    /** Waits until all subtasks run. */
    void awaitRunning(String job) {
        Await.until("running of " + job, LIMIT, () -> rest.runningSubtasks(job), n -> n > 0);
    }

    /** Waits until so many more checkpoints of a job are complete. */
    void awaitCheckpoints(String job, int more) throws IOException {
        int before = rest.completedCheckpoints(job);
        Await.until(
                "a checkpoint of " + job,
                LIMIT,
                () -> rest.completedCheckpoints(job),
                completed -> completed >= before + more);
    }

    void cancel(String job) throws IOException {
        rest.cancel(job);
        awaitStatus(job, "CANCELED");
    }

    void awaitStatus(String job, String status) {
        Await.until(status + " of " + job, LIMIT, () -> rest.status(job), status::equals);
    }

    /** The newest complete checkpoint that a job has left behind. */
    Optional<Path> retainedCheckpoint(String job) throws IOException {
        try (Stream<Path> files = Files.list(folder.resolve("checkpoints").resolve(job))) {
            return files.filter(path -> Files.exists(path.resolve("_metadata")))
                    .max(Comparator.comparingInt(FlinkCluster::checkpointNumber));
        }
    }

    private static int checkpointNumber(Path checkpoint) {
        return Integer.parseInt(checkpoint.getFileName().toString().replace("chk-", ""));
    }

    /**
     * Ends the processes as stopping a cluster does.
     *
     * @throws AssertionError when one does not end in time
     */
    @Override
    public void close() {
        Stream<GuardedProcess> all =
                Stream.concat(taskManagers.values().stream(), Stream.ofNullable(jobManager));
        List<Long> stuck =
                all.filter(
                                process -> {
                                    boolean ended =
                                            !process.isAlive()
                                                    || process.terminate(Duration.ofSeconds(30));
                                    process.close();
                                    return !ended;
                                })
                        .map(GuardedProcess::pid)
                        .collect(Collectors.toList());
        if (!stuck.isEmpty()) {
            throw new AssertionError("processes that did not end: " + stuck + ", see " + logs);
        }
    }

    private GuardedProcess daemon(String role, String name, String... arguments)
            throws IOException {
        List<String> command =
                Stream.concat(
                                Stream.of(
                                        HOME.resolve("bin/" + role + ".sh").toString(),
                                        "start-foreground"),
                                Stream.of(arguments))
                        .collect(Collectors.toList());
        return GuardedProcess.start(command, environment, logs.resolve(name + ".out"));
    }

    /** A folder of the distribution's jars and others. */
    private void link(String name, List<Path> others) throws IOException {
        Path target = Files.createDirectories(folder.resolve(name));
        try (Stream<Path> jars = Files.list(HOME.resolve(name))) {
            for (Path jar : Stream.concat(jars, others.stream()).collect(Collectors.toList())) {
                Files.createSymbolicLink(target.resolve(jar.getFileName()), jar);
            }
        }
    }

    private void configure(int rpcPort, int restPort) throws IOException {
        Path conf = Files.createDirectories(folder.resolve("conf"));
        String jvmOptions = null;
        try (Stream<Path> files = Files.list(HOME.resolve("conf"))) {
            for (Path file : files.collect(Collectors.toList())) {
                String name = file.getFileName().toString();
                if (name.equals("config.yaml")) {
                    jvmOptions =
                            Files.readAllLines(file).stream()
                                    .filter(line -> line.trim().startsWith("all: "))
                                    .map(line -> line.trim().substring("all: ".length()))
                                    .findFirst()
                                    .orElseThrow();
                } else {
                    Files.copy(file, conf.resolve(name));
                }
            }
        }
        String files = folder.toUri().toString().replaceAll("/$", "");
        Files.write(
                conf.resolve("config.yaml"),
                List.of(
                        // What Flink's own classes need of the JDK. What only caches hold is
                        // garbage, and the heap
                        // has its pages from the start, so that tests see what else is held.
                        "env.java.opts.all: "
                                + jvmOptions
                                + " -XX:SoftRefLRUPolicyMSPerMB=0 -XX:+AlwaysPreTouch",
                        "jobmanager.rpc.address: 127.0.0.1",
                        "jobmanager.rpc.port: " + rpcPort,
                        "jobmanager.bind-host: 127.0.0.1",
                        "jobmanager.memory.process.size: 1200m",
                        "rest.address: 127.0.0.1",
                        "rest.bind-address: 127.0.0.1",
                        "rest.port: " + restPort,
                        // What the REST API answers is at most so old.
                        "web.refresh-interval: 100 ms",
                        "taskmanager.host: 127.0.0.1",
                        "taskmanager.bind-host: 127.0.0.1",
                        "taskmanager.numberOfTaskSlots: " + SLOTS,
                        "taskmanager.memory.process.size: 1500m",
                        "taskmanager.memory.network.min: 32m",
                        "taskmanager.memory.network.max: 32m",
                        // Spreads a job over both.
                        "taskmanager.load-balance.mode: SLOTS",
                        "io.tmp.dirs: " + folder.resolve("tmp"),
                        // A killed process is noticed by its closed connections; a slow one is not
                        // taken for dead.
                        "heartbeat.interval: 1000",
                        "heartbeat.timeout: 30000",
                        "restart-strategy.type: fixed-delay",
                        "restart-strategy.fixed-delay.attempts: 1000",
                        "restart-strategy.fixed-delay.delay: 500 ms",
                        "execution.checkpointing.interval: 500 ms",
                        "execution.checkpointing.dir: " + files + "/checkpoints",
                        "execution.checkpointing.savepoint-dir: " + files + "/savepoints",
                        "execution.checkpointing.externalized-checkpoint-retention:"
                                + " RETAIN_ON_CANCELLATION"));
    }

    static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    private static void delete(Path folder) throws IOException {
        if (!Files.exists(folder)) {
            return;
        }
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path path : files.sorted(Comparator.reverseOrder()).collect(Collectors.toList())) {
                Files.delete(path);
            }
        }
    }
}

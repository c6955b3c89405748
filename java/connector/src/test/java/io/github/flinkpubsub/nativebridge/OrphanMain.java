package io.github.flinkpubsub.nativebridge;

import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A job whose credentials come from an executable that takes too long; the job ends before the
 * executable does.
 */
public final class OrphanMain {

    private OrphanMain() {}

    /** Argument: the file whose absence lets executables end. */
    public static void main(String[] arguments) throws Exception {
        // Its shutdown hook holds the class loader in which it is first used.
        LoggerFactory.getLogger(OrphanMain.class).debug("started");
        // A thread that has been in the library keeps it mapped.
        ExecutorService task = Executors.newSingleThreadExecutor();
        WeakReference<ClassLoader> job = task.submit(OrphanMain::run).get();
        task.shutdown();
        if (!task.awaitTermination(1, TimeUnit.MINUTES)) {
            throw new IllegalStateException("the task did not end");
        }
        NativeProcess.await("the job is collected", () -> job.get() == null);
        List<Long> executables = children();
        System.out.println("handler of SIGCHLD: " + handlesChildren());
        System.out.println("executables left: " + !executables.isEmpty());
        Files.delete(Paths.get(arguments[0]));
        NativeProcess.await(
                "they end", () -> executables.stream().noneMatch(OrphanMain::isRunning));
        System.out.println("alive");
    }

    private static WeakReference<ClassLoader> run() throws Exception {
        ConnectorLoader classes = new ConnectorLoader();
        String failure =
                (String) classes.connectorClass(OrphanMain.class).getMethod("ask").invoke(null);
        System.out.println("failed: " + failure.contains("deadline has elapsed"));
        return new WeakReference<>(classes);
    }

    /** In the job's class loader. */
    public static String ask() throws IOException {
        NativeOptions connection = new NativeOptions().put("endpoint", "127.0.0.1:1");
        try (NativeAdmin admin = NativeAdmin.open(connection)) {
            admin.describeTopic("projects/p/topics/t");
            return "";
        } catch (IOException e) {
            return e.getMessage();
        }
    }

    private static List<Long> children() {
        return ProcessHandle.current()
                .children()
                .map(ProcessHandle::pid)
                .collect(Collectors.toList());
    }

    /** Whether a process has not ended; one that nobody has waited for has, too. */
    private static boolean isRunning(long pid) {
        try (Stream<String> stat = Files.lines(Path.of("/proc/" + pid + "/stat"))) {
            return !stat.findFirst().orElse(") Z").contains(") Z");
        } catch (IOException e) {
            return false;
        }
    }

    private static boolean handlesChildren() throws IOException {
        try (Stream<String> status = Files.lines(Path.of("/proc/self/status"))) {
            // "SigCgt:	0000000180014a07": bit 16 is SIGCHLD, the signal 17.
            return status.filter(line -> line.startsWith("SigCgt:"))
                    .map(line -> Long.parseUnsignedLong(line.substring(7).trim(), 16))
                    .anyMatch(caught -> (caught & 1L << 16) != 0);
        }
    }
}

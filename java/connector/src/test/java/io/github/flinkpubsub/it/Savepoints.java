package io.github.flinkpubsub.it;

import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.util.ExceptionUtils;

import java.nio.file.Path;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

/** Ends jobs with a savepoint. */
final class Savepoints {

    private static final long TIMEOUT_NANOS = TimeUnit.MINUTES.toNanos(1);

    private Savepoints() {}

    /**
     * Stops a job with a savepoint in this folder, waits for its end and answers where the
     * savepoint is. Subtasks that are still starting are waited for: Flink refuses meanwhile. While
     * a subtask ends by itself Flink may fail the job instead, so a test waits for its end before.
     */
    static String stop(JobClient job, Path folder) throws Exception {
        long deadline = System.nanoTime() + TIMEOUT_NANOS;
        while (true) {
            try {
                String savepoint =
                        job.stopWithSavepoint(
                                        false, folder.toString(), SavepointFormatType.CANONICAL)
                                .get(1, TimeUnit.MINUTES);
                job.getJobExecutionResult().get(1, TimeUnit.MINUTES);
                return savepoint;
            } catch (ExecutionException e) {
                boolean notYet =
                        ExceptionUtils.stringifyException(e)
                                .contains("Not all required tasks are currently running");
                if (!notYet || System.nanoTime() > deadline) {
                    throw e;
                }
            }
        }
    }
}

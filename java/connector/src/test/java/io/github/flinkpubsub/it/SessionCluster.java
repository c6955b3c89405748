package io.github.flinkpubsub.it;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.AccessExecutionVertex;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

import java.net.URI;

/** A cluster in this process that outlives its jobs and answers what their subtasks do. */
final class SessionCluster implements AutoCloseable {

    private final MiniCluster cluster;

    private SessionCluster(MiniCluster cluster) {
        this.cluster = cluster;
    }

    static SessionCluster start(int slots) throws Exception {
        MiniCluster cluster =
                new MiniCluster(
                        new MiniClusterConfiguration.Builder()
                                .setNumTaskManagers(1)
                                .setNumSlotsPerTaskManager(slots)
                                .build());
        cluster.start();
        return new SessionCluster(cluster);
    }

    StreamExecutionEnvironment environment(int parallelism, Configuration configuration)
            throws Exception {
        URI rest = cluster.getRestAddress().get();
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.createRemoteEnvironment(
                        rest.getHost(), rest.getPort(), configuration);
        env.setParallelism(parallelism);
        return env;
    }

    /** How many subtasks of a job have ended for good, as the job manager knows it. */
    int finished(JobClient job) {
        int finished = 0;
        for (AccessExecutionVertex subtask :
                cluster.getExecutionGraph(job.getJobID()).join().getAllExecutionVertices()) {
            if (subtask.getExecutionState() == ExecutionState.FINISHED) {
                finished++;
            }
        }
        return finished;
    }

    @Override
    public void close() throws Exception {
        cluster.close();
    }
}

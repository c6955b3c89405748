package io.github.flinkpubsub.sink.writer;

import org.apache.flink.api.common.JobInfo;
import org.apache.flink.api.common.TaskInfo;
import org.apache.flink.api.common.operators.MailboxExecutor;
import org.apache.flink.api.common.operators.ProcessingTimeService;
import org.apache.flink.api.common.serialization.SerializationSchema;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.connector.testutils.source.TestingTaskInfo;
import org.apache.flink.metrics.groups.SinkWriterMetricGroup;
import org.apache.flink.metrics.testutils.MetricListener;
import org.apache.flink.runtime.metrics.groups.MetricsGroupTestUtils;
import org.apache.flink.streaming.runtime.tasks.TestProcessingTimeService;
import org.apache.flink.util.SimpleUserCodeClassLoader;
import org.apache.flink.util.UserCodeClassLoader;

import java.util.OptionalLong;

/** What a writer sees of its task, held by the test. */
final class TestWriterContext implements WriterInitContext {

    final TestMailbox mailbox = new TestMailbox();
    final TestProcessingTimeService time = new TestProcessingTimeService();
    final MetricListener metrics = new MetricListener();

    private final SinkWriterMetricGroup metricGroup =
            MetricsGroupTestUtils.mockWriterMetricGroup(metrics.getMetricGroup());

    @Override
    public MailboxExecutor getMailboxExecutor() {
        return mailbox;
    }

    @Override
    public ProcessingTimeService getProcessingTimeService() {
        return time;
    }

    @Override
    public SinkWriterMetricGroup metricGroup() {
        return metricGroup;
    }

    @Override
    public TaskInfo getTaskInfo() {
        return new TestingTaskInfo.Builder().setIndexOfThisSubtask(3).build();
    }

    @Override
    public OptionalLong getRestoredCheckpointId() {
        return OptionalLong.empty();
    }

    @Override
    public boolean isObjectReuseEnabled() {
        return false;
    }

    @Override
    public JobInfo getJobInfo() {
        throw new UnsupportedOperationException();
    }

    @Override
    public UserCodeClassLoader getUserCodeClassLoader() {
        return SimpleUserCodeClassLoader.create(getClass().getClassLoader());
    }

    @Override
    public SerializationSchema.InitializationContext asSerializationSchemaInitializationContext() {
        return null;
    }

    @Override
    public <T> TypeSerializer<T> createInputSerializer() {
        throw new UnsupportedOperationException();
    }
}

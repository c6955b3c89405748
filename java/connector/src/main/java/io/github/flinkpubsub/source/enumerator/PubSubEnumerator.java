package io.github.flinkpubsub.source.enumerator;

import io.github.flinkpubsub.SubscriptionDestination;
import io.github.flinkpubsub.nativebridge.Admin;
import io.github.flinkpubsub.nativebridge.NativeAdmin;
import io.github.flinkpubsub.nativebridge.NativeOptions;
import io.github.flinkpubsub.source.SourceConfig;
import io.github.flinkpubsub.source.split.PubSubSplit;

import org.apache.flink.annotation.Internal;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.connector.source.SplitsAssignment;
import org.apache.flink.util.FlinkRuntimeException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

import javax.annotation.Nullable;

/**
 * Makes the subscriptions ready and gives each reader its splits when it registers, as {@link
 * SplitPlan} says. A reader that has failed registers again and is given the same ones. All calls
 * come from the coordinator's thread, which never waits for the service: that is done by a worker.
 */
@Internal
public final class PubSubEnumerator implements SplitEnumerator<PubSubSplit, PubSubEnumeratorState> {

    private static final Logger LOG = LoggerFactory.getLogger(PubSubEnumerator.class);

    private final SplitEnumeratorContext<PubSubSplit> context;
    private final SourceConfig config;
    private final AdminFactory adminFactory;
    private final JobEnd jobEnd = new JobEnd();

    /** The subscriptions that readers may be attached to: looked at, and moved where need be. */
    private final Set<SubscriptionDestination> started = new LinkedHashSet<>();

    /** Readers that have registered before the subscriptions were ready. */
    private final Set<Integer> waitingReaders = new TreeSet<>();

    /** How many splits each registered reader has; the metrics' threads read the sums. */
    private final Map<Integer, Integer> splitsOfReader = new HashMap<>();

    private volatile int assignedSplits;
    private volatile int unassignedReaders;
    private boolean ready;
    @Nullable private SplitPlan plan;

    /**
     * @param restored the state to go on from; null at the first start
     */
    public PubSubEnumerator(
            SplitEnumeratorContext<PubSubSplit> context,
            SourceConfig config,
            @Nullable PubSubEnumeratorState restored) {
        this(context, config, restored, PubSubEnumerator::openAdmin);
    }

    PubSubEnumerator(
            SplitEnumeratorContext<PubSubSplit> context,
            SourceConfig config,
            @Nullable PubSubEnumeratorState restored,
            AdminFactory adminFactory) {
        this.context = context;
        this.config = restored == null ? config : config.resuming(restored.ownSubscriptions());
        this.adminFactory = adminFactory;
        if (restored != null) {
            logChanges(restored.subscriptions());
            started.addAll(restored.subscriptions());
            started.retainAll(this.config.subscriptions());
        }
    }

    @Override
    public void start() {
        jobEnd.started(context);
        plan =
                SplitPlan.of(
                        config.subscriptions(),
                        context.currentParallelism(),
                        config.orderingMode());
        context.metricGroup().gauge("assignedSplits", () -> assignedSplits);
        context.metricGroup().gauge("unassignedReaders", () -> unassignedReaders);
        Set<SubscriptionDestination> before = new LinkedHashSet<>(started);
        context.callAsync(() -> setUp(before), this::setUpEnded);
    }

    /** On a worker thread. */
    private Void setUp(Set<SubscriptionDestination> before) throws IOException {
        try (Admin admin = adminFactory.open(config)) {
            new SubscriptionSetup(config, admin, Instant::now).run(before);
        }
        return null;
    }

    private void setUpEnded(@Nullable Void nothing, @Nullable Throwable failure) {
        if (failure != null) {
            // What is thrown here fails the job.
            throw new FlinkRuntimeException(failure.getMessage(), failure);
        }
        started.addAll(config.subscriptions());
        ready = true;
        waitingReaders.forEach(this::assign);
        waitingReaders.clear();
    }

    @Override
    public void addReader(int subtask) {
        if (ready) {
            assign(subtask);
        } else {
            waitingReaders.add(subtask);
        }
    }

    private void assign(int subtask) {
        List<PubSubSplit> splits = plan.of(subtask);
        if (!splits.isEmpty()) {
            context.assignSplits(
                    new SplitsAssignment<>(
                            Collections.singletonMap(subtask, new ArrayList<>(splits))));
        }
        if (splits.isEmpty() || config.stopCondition() != null) {
            // Ends a reader without splits, so that it does not hold back watermarks, and lets one
            // of a bounded source end with its last split.
            context.signalNoMoreSplits(subtask);
        }
        splitsOfReader.put(subtask, splits.size());
        count();
    }

    /** Nothing to do: the reader has its splits from the start. */
    @Override
    public void handleSplitRequest(int subtask, @Nullable String hostname) {}

    /** The reader will register again and is then given its splits again. */
    @Override
    public void addSplitsBack(List<PubSubSplit> splits, int subtask) {
        waitingReaders.remove(subtask);
        splitsOfReader.remove(subtask);
        count();
    }

    /** Subscriptions whose set-up has not ended are not in it: a restored job sets them up. */
    @Override
    public PubSubEnumeratorState snapshotState(long checkpointId) {
        jobEnd.snapshot(checkpointId);
        return new PubSubEnumeratorState(started, config.ownSubscriptions());
    }

    @Override
    public void notifyCheckpointComplete(long checkpointId) {
        jobEnd.completed(checkpointId);
    }

    @Override
    public void notifyCheckpointAborted(long checkpointId) {
        jobEnd.aborted(checkpointId);
    }

    /** Deletes the job's own subscriptions when it is over for good; they expire otherwise. */
    @Override
    public void close() {
        if (config.ownSubscriptions().isEmpty()) {
            return;
        }
        if (!jobEnd.forGood()) {
            LOG.info("Keeping {} for a restart of the job", config.ownSubscriptions().values());
            return;
        }
        try (Admin admin = adminFactory.open(config)) {
            for (SubscriptionDestination own : config.ownSubscriptions().values()) {
                boolean deleted = admin.deleteSubscription(own.path());
                LOG.info(deleted ? "Deleted {}" : "{} is gone already", own);
            }
        } catch (IOException e) {
            LOG.warn(
                    "Cannot delete {}, which is left to its expiration",
                    config.ownSubscriptions().values(),
                    e);
        }
    }

    /** Looks at a source's subscriptions without changing anything; blocks until that is done. */
    public static void validate(SourceConfig config) throws IOException {
        try (Admin admin = openAdmin(config)) {
            new SubscriptionSetup(config, admin, Instant::now).check();
        }
    }

    private static Admin openAdmin(SourceConfig config) throws IOException {
        NativeOptions options = new NativeOptions();
        config.connection().addTo(options);
        return NativeAdmin.open(options);
    }

    /** Makes the client of the set-up, on the worker thread. */
    interface AdminFactory {
        Admin open(SourceConfig config) throws IOException;
    }

    private void count() {
        assignedSplits = splitsOfReader.values().stream().mapToInt(Integer::intValue).sum();
        unassignedReaders =
                (int) splitsOfReader.values().stream().filter(splits -> splits == 0).count();
    }

    private void logChanges(Set<SubscriptionDestination> before) {
        Set<SubscriptionDestination> added = new LinkedHashSet<>(config.subscriptions());
        added.removeAll(before);
        Set<SubscriptionDestination> removed = new LinkedHashSet<>(before);
        removed.removeAll(config.subscriptions());
        if (!added.isEmpty() || !removed.isEmpty()) {
            LOG.info(
                    "Subscriptions since the restored state: added {}, removed {}", added, removed);
        }
    }
}

package io.github.flinkpubsub.table;

import org.apache.flink.api.common.functions.Partitioner;
import org.apache.flink.util.MathUtils;

/**
 * Sends equal ordering keys to one writer, which publishes them one after the other, and rows
 * without a key to all in turn.
 */
final class OrderingKeyPartitioner implements Partitioner<String> {

    private static final long serialVersionUID = 1L;

    private int next;

    @Override
    public int partition(String key, int writers) {
        if (key == null) {
            next = (next + 1) % writers;
            return next;
        }
        return MathUtils.murmurHash(key.hashCode()) % writers;
    }
}

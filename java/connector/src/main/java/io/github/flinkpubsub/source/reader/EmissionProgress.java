package io.github.flinkpubsub.source.reader;

import java.util.Arrays;

/**
 * How many leading messages of each split have been emitted, skipped or dropped. Splits are named
 * by their native number. Belongs to the task's thread.
 */
final class EmissionProgress {

    private long[] done = new long[4];
    private boolean[] changed = new boolean[4];

    /** Says that all messages below {@code next} are done; going back has no effect. */
    void advance(int split, long next) {
        if (split >= done.length) {
            int length = Math.max(split + 1, done.length * 2);
            done = Arrays.copyOf(done, length);
            changed = Arrays.copyOf(changed, length);
        }
        if (next > done[split]) {
            done[split] = next;
            changed[split] = true;
        }
    }

    /**
     * The splits that have advanced since the last call. A split that was removed in the meantime
     * is among them: what it emitted is still to be acknowledged.
     */
    Changes takeChanges() {
        int count = 0;
        int[] splits = new int[done.length];
        long[] positions = new long[done.length];
        for (int split = 0; split < done.length; split++) {
            if (changed[split]) {
                splits[count] = split;
                positions[count++] = done[split];
                changed[split] = false;
            }
        }
        return new Changes(Arrays.copyOf(splits, count), Arrays.copyOf(positions, count));
    }

    /** Splits and, for each, the number of leading messages that are done. */
    static final class Changes {
        final int[] splits;
        final long[] done;

        private Changes(int[] splits, long[] done) {
            this.splits = splits;
            this.done = done;
        }
    }
}

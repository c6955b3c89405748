package io.github.flinkpubsub.bench;

/** One client under measurement. Runs in a process of its own. */
interface Contender {
    /**
     * Moves {@code run.messages} messages, tells the meter of each and stops it when the work is
     * done.
     */
    void run(Run run, Meter meter) throws Exception;
}

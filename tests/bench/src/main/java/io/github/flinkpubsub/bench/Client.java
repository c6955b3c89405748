package io.github.flinkpubsub.bench;

import java.util.Locale;

/** The process that is measured: runs one contender and prints its reading. */
final class Client {
    private Client() {}

    /** The contenders, by the name that stands in the results. */
    enum Kind {
        SOURCE("source", 5_000_000),
        GOOGLE_SUBSCRIBER("google-java-subscriber", 5_000_000),
        SINK("sink", 12_000_000),
        GOOGLE_PUBLISHER("google-java-publisher", 12_000_000);

        final String label;

        /** Enough for the compiler of the JVM to be done in the first quarter. */
        final long defaultMessages;

        Kind(String label, long defaultMessages) {
            this.label = label;
            this.defaultMessages = defaultMessages;
        }

        private Contender create() {
            switch (this) {
                case SOURCE:
                    return new FlinkSource();
                case GOOGLE_SUBSCRIBER:
                    return new GoogleSubscriber();
                case SINK:
                    return new FlinkSink();
                default:
                    return new GooglePublisher();
            }
        }
    }

    /** Arguments: kind, workload, number of messages, server. */
    public static void main(String[] args) throws Exception {
        Kind kind = Kind.valueOf(args[0].toUpperCase(Locale.ROOT));
        Run run =
                new Run(
                        Workload.valueOf(args[1].toUpperCase(Locale.ROOT)),
                        Long.parseLong(args[2]),
                        args[3]);
        Meter meter = new Meter(run.messages);
        kind.create().run(run, meter);
        System.out.println(meter.reading().encode());
        System.out.flush();
        // Threads of either client that are still on their way out must not keep the process.
        Runtime.getRuntime().halt(0);
    }
}

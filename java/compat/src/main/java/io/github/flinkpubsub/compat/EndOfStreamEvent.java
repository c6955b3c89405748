package io.github.flinkpubsub.compat;

import org.apache.flink.api.connector.source.SourceEvent;

/** From a reader to the enumerator: the last record has come. From there to the others: end. */
final class EndOfStreamEvent implements SourceEvent {

    private static final long serialVersionUID = 1L;
}

package io.github.flinkpubsub.sink.writer;

import io.github.flinkpubsub.nativebridge.Publisher;

import org.apache.flink.api.common.operators.MailboxExecutor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;

/**
 * The one thread beside a writer's task: it waits for what the native publisher has to say and puts
 * it into the task's mailbox. It ends when the publisher is closed.
 */
final class PublisherWatch {

    private static final Logger LOG = LoggerFactory.getLogger(PublisherWatch.class);

    private static final long AWAIT_MILLIS = 1_000;

    private final Publisher publisher;
    private final MailboxExecutor mailbox;
    private final Listener listener;

    /**
     * The publisher repeats what the task has not looked at yet, so the watch waits for the task.
     */
    private final Semaphore handled = new Semaphore(0);

    private final Thread thread;

    private PublisherWatch(
            Publisher publisher, MailboxExecutor mailbox, Listener listener, String name) {
        this.publisher = publisher;
        this.mailbox = mailbox;
        this.listener = listener;
        this.thread = new Thread(this::run, name);
        thread.setDaemon(true);
    }

    static PublisherWatch start(
            Publisher publisher, MailboxExecutor mailbox, Listener listener, String name) {
        PublisherWatch watch = new PublisherWatch(publisher, mailbox, listener, name);
        watch.thread.start();
        return watch;
    }

    /** Ends the thread if it has not ended with the publisher; waits for it for a moment. */
    void close() {
        thread.interrupt();
        try {
            thread.join(AWAIT_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void run() {
        try {
            while (true) {
                int events = publisher.await(AWAIT_MILLIS);
                if ((events & Publisher.CLOSED) != 0) {
                    return;
                }
                if (events != 0) {
                    mailbox.execute(() -> tell(events), "Pub/Sub publisher event");
                    handled.acquire();
                }
            }
        } catch (InterruptedException e) {
            LOG.debug("The watch of a publisher ends", e);
        } catch (RejectedExecutionException e) {
            LOG.debug("The watch of a publisher ends: the task takes no more mail", e);
        } catch (Throwable t) {
            fail(t);
        }
    }

    private void tell(int events) throws Exception {
        try {
            listener.onEvents(events);
        } finally {
            handled.release();
        }
    }

    private void fail(Throwable t) {
        try {
            mailbox.execute(
                    () -> {
                        throw new IOException("the watch of a publisher failed: " + t, t);
                    },
                    "Pub/Sub publisher failure");
        } catch (RejectedExecutionException e) {
            LOG.debug("The watch of a publisher failed while the task ended", t);
        }
    }

    /** Is told of events, on the task's thread. */
    interface Listener {
        /**
         * @param events bits of {@link Publisher}
         */
        void onEvents(int events) throws Exception;
    }
}

package io.github.flinkpubsub.sink.writer;

import org.apache.flink.api.common.operators.MailboxExecutor;
import org.apache.flink.util.function.ThrowingRunnable;

import java.util.concurrent.LinkedBlockingQueue;

/** A mailbox whose mail the test's thread runs. */
final class TestMailbox implements MailboxExecutor {

    private final LinkedBlockingQueue<ThrowingRunnable<? extends Exception>> mails =
            new LinkedBlockingQueue<>();

    @Override
    public void execute(
            MailOptions options,
            ThrowingRunnable<? extends Exception> command,
            String description,
            Object... arguments) {
        mails.add(command);
    }

    @Override
    public void yield() throws InterruptedException {
        run(mails.take());
    }

    @Override
    public boolean tryYield() {
        ThrowingRunnable<? extends Exception> mail = mails.poll();
        if (mail != null) {
            run(mail);
        }
        return mail != null;
    }

    @Override
    public boolean shouldInterrupt() {
        return !mails.isEmpty();
    }

    private static void run(ThrowingRunnable<? extends Exception> mail) {
        try {
            mail.run();
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new MailFailure(e);
        }
    }

    /** What a mail has thrown. */
    static final class MailFailure extends RuntimeException {

        private static final long serialVersionUID = 1L;

        MailFailure(Exception cause) {
            super(cause);
        }
    }
}

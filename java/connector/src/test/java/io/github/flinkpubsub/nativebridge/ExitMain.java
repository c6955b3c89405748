package io.github.flinkpubsub.nativebridge;

/** Ends, one way or the other, while clients are at work. */
public final class ExitMain {

    private ExitMain() {}

    public static void main(String[] arguments) throws Exception {
        NativeOptions connection = new NativeOptions().put("emulator-endpoint", arguments[0]);
        NativeSubscriber subscriber =
                NativeSubscriber.open(
                        new NativeOptions()
                                .put("emulator-endpoint", arguments[0])
                                .put("client-id-prefix", "exit"));
        subscriber.addSplit(arguments[1]);
        if (!subscriber.poll(new NativeBatch(10_000, 10), 20_000)) {
            throw new IllegalStateException("nothing came");
        }
        Thread polls =
                new Thread(
                        () -> {
                            try {
                                subscriber.poll(new NativeBatch(10_000, 10), 3_600_000);
                            } catch (Exception e) {
                                e.printStackTrace();
                            }
                        });
        polls.setDaemon(true);
        polls.start();
        NativePublisher.open(connection).topic("projects/p/topics/t");
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (!thread.isDaemon()) {
                System.out.println("the JVM waits for " + thread.getName());
            }
        }
        System.out.println("working");
        if (arguments.length > 2) {
            System.exit(Integer.parseInt(arguments[2]));
        }
    }
}

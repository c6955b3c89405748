package io.github.flinkpubsub.nativebridge;

/** Says how many threads the library starts. */
public final class ThreadsMain {

    private ThreadsMain() {}

    public static void main(String[] arguments) throws Exception {
        NativeOptions connection = new NativeOptions().put("emulator-endpoint", arguments[0]);
        try (NativeAdmin admin = NativeAdmin.open(connection)) {
            admin.describeTopic(arguments[1]);
            System.out.println(
                    NativeProcess.nativeThreads()
                            + " threads for "
                            + Runtime.getRuntime().availableProcessors()
                            + " processors");
        }
    }
}

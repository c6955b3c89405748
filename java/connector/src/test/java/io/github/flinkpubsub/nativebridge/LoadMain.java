package io.github.flinkpubsub.nativebridge;

import io.github.flinkpubsub.PubSubException;

/** Loads the library and says how that went. */
public final class LoadMain {

    private LoadMain() {}

    public static void main(String[] arguments) {
        try {
            NativeLoader.load();
            System.out.println("loaded");
        } catch (PubSubException e) {
            System.out.println(e.getMessage());
        }
    }
}

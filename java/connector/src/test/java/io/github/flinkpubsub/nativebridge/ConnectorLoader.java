package io.github.flinkpubsub.nativebridge;

import org.apache.flink.shaded.asm9.org.objectweb.asm.ClassReader;
import org.apache.flink.shaded.asm9.org.objectweb.asm.ClassWriter;
import org.apache.flink.shaded.asm9.org.objectweb.asm.Opcodes;
import org.apache.flink.shaded.asm9.org.objectweb.asm.commons.ClassRemapper;
import org.apache.flink.shaded.asm9.org.objectweb.asm.commons.Remapper;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URL;
import java.net.URLConnection;
import java.net.URLStreamHandler;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

import javax.annotation.Nullable;

/**
 * Loads the connector's classes, and those of its tests, anew and before its parent, as Flink does
 * for each job. Classes and resources may be replaced, and the whole moved to another package, as a
 * user's shading does.
 */
final class ConnectorLoader extends ClassLoader {

    private static final String HOME = "io/github/flinkpubsub/";
    private static final String BRIDGE = HOME + "nativebridge/";

    private final String home;
    private final Map<String, byte[]> replaced = new HashMap<>();

    ConnectorLoader() {
        this(HOME);
    }

    /** With the connector's package moved to {@code home}, which ends with a slash. */
    ConnectorLoader(String home) {
        super(ConnectorLoader.class.getClassLoader());
        this.home = home;
    }

    /** With a jar of another version. */
    ConnectorLoader version(String version) {
        replaced.put(BRIDGE + "version.properties", ("version=" + version).getBytes());
        return this;
    }

    /** With a library in the jar. */
    ConnectorLoader library(Path library) throws IOException {
        Platform platform = Platform.current();
        replaced.put(
                BRIDGE + platform.name() + "/" + platform.libraryName(),
                Files.readAllBytes(library));
        return this;
    }

    /** A class of the connector or its tests, by its name there. */
    Class<?> connectorClass(Class<?> original) throws ClassNotFoundException {
        return loadClass(move(original.getName().replace('.', '/')).replace('/', '.'));
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        String path = name.replace('.', '/');
        if (!path.startsWith(home) || path.startsWith(home + "testing/")) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            return loaded != null ? loaded : define(name, path);
        }
    }

    private Class<?> define(String name, String path) throws ClassNotFoundException {
        String original = HOME + path.substring(home.length()) + ".class";
        try (InputStream in = getParent().getResourceAsStream(original)) {
            if (in == null) {
                throw new ClassNotFoundException(name);
            }
            byte[] bytes = home.equals(HOME) ? in.readAllBytes() : moved(in);
            return defineClass(name, bytes, 0, bytes.length);
        } catch (IOException e) {
            throw new ClassNotFoundException(name, e);
        }
    }

    private byte[] moved(InputStream in) throws IOException {
        ClassWriter writer = new ClassWriter(0);
        Remapper remapper =
                new Remapper(Opcodes.ASM9) {
                    @Override
                    public String map(String name) {
                        return move(name);
                    }
                };
        new ClassReader(in).accept(new ClassRemapper(writer, remapper), 0);
        return writer.toByteArray();
    }

    private String move(String path) {
        boolean ours = path.startsWith(HOME) && !path.startsWith(HOME + "testing/");
        return ours ? home + path.substring(HOME.length()) : path;
    }

    @Override
    @Nullable
    public URL getResource(String name) {
        String original = name.startsWith(home) ? HOME + name.substring(home.length()) : name;
        byte[] bytes = replaced.get(original);
        return bytes == null ? getParent().getResource(original) : url(name, bytes);
    }

    private static URL url(String name, byte[] bytes) {
        URLStreamHandler handler =
                new URLStreamHandler() {
                    @Override
                    protected URLConnection openConnection(URL url) {
                        return new URLConnection(url) {
                            @Override
                            public void connect() {}

                            @Override
                            public InputStream getInputStream() {
                                return new ByteArrayInputStream(bytes);
                            }
                        };
                    }
                };
        try {
            return new URL(null, URI.create("memory:" + name).toString(), handler);
        } catch (MalformedURLException e) {
            throw new IllegalStateException(e);
        }
    }
}

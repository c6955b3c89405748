package io.github.flinkpubsub.it;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Base64;
import java.util.concurrent.TimeUnit;

/** A self-signed certificate for {@code localhost} and 127.0.0.1, made by the JDK's keytool. */
public final class Certificate {

    private static final String PASSWORD = "password";

    private final Path certificate;
    private final Path key;

    private Certificate(Path certificate, Path key) {
        this.certificate = certificate;
        this.key = key;
    }

    /** Makes one in a directory. */
    public static Certificate in(Path directory) throws Exception {
        Path store = directory.resolve("store.p12");
        Process keytool =
                new ProcessBuilder(
                                Paths.get(System.getProperty("java.home"), "bin", "keytool")
                                        .toString(),
                                "-genkeypair",
                                "-alias",
                                "server",
                                "-keyalg",
                                "RSA",
                                "-keysize",
                                "2048",
                                "-dname",
                                "CN=localhost",
                                "-ext",
                                "SAN=dns:localhost,ip:127.0.0.1",
                                "-validity",
                                "2",
                                "-storetype",
                                "PKCS12",
                                "-keystore",
                                store.toString(),
                                "-storepass",
                                PASSWORD)
                        .redirectErrorStream(true)
                        .redirectOutput(directory.resolve("keytool.log").toFile())
                        .start();
        if (!keytool.waitFor(60, TimeUnit.SECONDS) || keytool.exitValue() != 0) {
            throw new IOException(
                    "keytool failed: " + Files.readString(directory.resolve("keytool.log")));
        }
        return read(store, directory);
    }

    private static Certificate read(Path store, Path directory)
            throws IOException, GeneralSecurityException {
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(store)) {
            keys.load(in, PASSWORD.toCharArray());
        }
        Path certificate = directory.resolve("cert.pem");
        Path key = directory.resolve("key.pem");
        Files.writeString(
                certificate, pem("CERTIFICATE", keys.getCertificate("server").getEncoded()));
        Files.writeString(
                key,
                pem("PRIVATE KEY", keys.getKey("server", PASSWORD.toCharArray()).getEncoded()));
        return new Certificate(certificate, key);
    }

    /** DER in its text form. */
    public static String pem(String kind, byte[] der) {
        return "-----BEGIN "
                + kind
                + "-----\n"
                + Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der)
                + "\n-----END "
                + kind
                + "-----\n";
    }

    /** The file with the certificate, which is its own authority. */
    public String file() {
        return certificate.toString();
    }

    /** The file with its key. */
    public String keyFile() {
        return key.toString();
    }
}

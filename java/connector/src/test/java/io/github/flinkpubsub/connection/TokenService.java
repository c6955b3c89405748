package io.github.flinkpubsub.connection;

import com.sun.net.httpserver.HttpServer;

import io.github.flinkpubsub.it.Certificate;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.Signature;
import java.util.Base64;
import java.util.concurrent.atomic.AtomicInteger;

/** Gives a token to whoever signs with the key of a service account that exists in the test. */
final class TokenService implements AutoCloseable {

    private static final String GRANT =
            "grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer&assertion=";

    private final HttpServer server;
    private final KeyPair key;
    private volatile String token;
    private final AtomicInteger asked = new AtomicInteger();

    private TokenService(HttpServer server, KeyPair key, String token) {
        this.server = server;
        this.key = key;
        this.token = token;
    }

    static TokenService start(String token) throws IOException, GeneralSecurityException {
        KeyPairGenerator generator = KeyPairGenerator.getInstance("RSA");
        generator.initialize(2_048);
        HttpServer server =
                HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        TokenService service = new TokenService(server, generator.generateKeyPair(), token);
        server.createContext(
                "/token",
                exchange -> {
                    String form =
                            new String(
                                    exchange.getRequestBody().readAllBytes(),
                                    StandardCharsets.UTF_8);
                    String answer =
                            service.isSigned(form)
                                    ? "{\"access_token\":\""
                                            + service.token
                                            + "\",\"expires_in\":3600}"
                                    : "{\"error\":\"invalid_grant\"}";
                    byte[] body = answer.getBytes(StandardCharsets.UTF_8);
                    exchange.sendResponseHeaders(answer.contains("error") ? 400 : 200, body.length);
                    exchange.getResponseBody().write(body);
                    exchange.close();
                });
        server.start();
        return service;
    }

    private boolean isSigned(String form) {
        asked.incrementAndGet();
        String decoded = URLDecoder.decode(form, StandardCharsets.UTF_8);
        if (!decoded.startsWith(GRANT)) {
            return false;
        }
        String assertion = decoded.substring(GRANT.length());
        int end = assertion.lastIndexOf('.');
        try {
            Signature signature = Signature.getInstance("SHA256withRSA");
            signature.initVerify(key.getPublic());
            signature.update(assertion.substring(0, end).getBytes(StandardCharsets.US_ASCII));
            return signature.verify(Base64.getUrlDecoder().decode(assertion.substring(end + 1)));
        } catch (GeneralSecurityException e) {
            return false;
        }
    }

    /** What it gives from here on. */
    void issue(String other) {
        token = other;
    }

    /** How often it was asked. */
    int asked() {
        return asked.get();
    }

    /** Writes the key file of the account. */
    void writeKeyFile(Path file) throws IOException {
        String pem = privateKey().replace("\n", "\\n");
        Files.writeString(
                file,
                "{\"type\":\"service_account\",\"client_email\":\"job@p.iam.gserviceaccount.com\","
                        + "\"private_key_id\":\"k\",\"project_id\":\"p\",\"private_key\":\""
                        + pem
                        + "\",\"token_uri\":\"http://127.0.0.1:"
                        + server.getAddress().getPort()
                        + "/token\"}");
    }

    /** In the form in which it stands in key files. */
    String privateKey() {
        return Certificate.pem("PRIVATE KEY", key.getPrivate().getEncoded());
    }

    @Override
    public void close() {
        server.stop(0);
    }
}

package io.github.flinkpubsub.table;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * As much of Confluent's schema registry as Flink's format needs: schemas are registered under a
 * subject and found by id. One schema a subject, never checked.
 */
final class SchemaRegistry implements AutoCloseable {

    /** Of the first schema; each further one has the next. */
    static final int FIRST_ID = 258;

    private static final Pattern VERSIONS = Pattern.compile("/subjects/([^/]+)/versions");
    private static final Pattern BY_ID = Pattern.compile("/schemas/ids/([0-9]+)");

    private final HttpServer server;
    private final Map<String, Integer> subjects = new ConcurrentHashMap<>();

    /**
     * What was registered, as the registry's own JSON, which has the schema in one of its fields.
     */
    private final Map<Integer, String> schemas = new ConcurrentHashMap<>();

    private SchemaRegistry(HttpServer server) {
        this.server = server;
    }

    static SchemaRegistry start() throws IOException {
        SchemaRegistry registry =
                new SchemaRegistry(
                        HttpServer.create(
                                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0));
        registry.server.createContext("/", registry::handle);
        registry.server.start();
        return registry;
    }

    String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    /** What was registered under the subject; null when nothing was. */
    String registered(String subject) {
        Integer id = subjects.get(subject);
        return id == null ? null : schemas.get(id);
    }

    private void handle(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().getPath();
        String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
        Matcher versions = VERSIONS.matcher(path);
        Matcher byId = BY_ID.matcher(path);
        if (versions.matches()) {
            String subject = versions.group(1);
            subjects.putIfAbsent(subject, FIRST_ID + subjects.size());
            int id = subjects.get(subject);
            schemas.put(id, body);
            answer(exchange, 200, "{\"id\":" + id + "}");
            return;
        }
        String schema = byId.matches() ? schemas.get(Integer.valueOf(byId.group(1))) : null;
        if (schema != null) {
            answer(exchange, 200, schema);
        } else {
            answer(exchange, 404, "{\"error_code\":40403,\"message\":\"not found: " + path + "\"}");
        }
    }

    private static void answer(HttpExchange exchange, int status, String json) throws IOException {
        byte[] bytes = json.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/vnd.schemaregistry.v1+json");
        exchange.sendResponseHeaders(status, bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }

    @Override
    public void close() {
        server.stop(0);
    }
}

package io.github.flinkpubsub.testing;

import com.google.gson.FieldNamingPolicy;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import com.google.gson.JsonSyntaxException;

import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** HTTP and JSON of the control interface. Any thread may call it. */
final class ControlClient {
    /** Names in JSON are those of the fields, in snake case. */
    static final Gson GSON =
            new GsonBuilder()
                    .setFieldNamingPolicy(FieldNamingPolicy.LOWER_CASE_WITH_UNDERSCORES)
                    .create();

    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private final HttpClient http =
            HttpClient.newBuilder()
                    .version(HttpClient.Version.HTTP_1_1)
                    .connectTimeout(TIMEOUT)
                    .build();
    private final String base;

    ControlClient(String endpoint) {
        base = "http://" + endpoint;
    }

    /** A path with its query; parameters come in pairs, null and empty values are left out. */
    static String path(String path, String... parameters) {
        StringBuilder all = new StringBuilder(path);
        char separator = '?';
        for (int i = 0; i < parameters.length; i += 2) {
            String value = parameters[i + 1];
            if (value != null && !value.isEmpty()) {
                all.append(separator)
                        .append(parameters[i])
                        .append('=')
                        .append(URLEncoder.encode(value, StandardCharsets.UTF_8));
                separator = '&';
            }
        }
        return all.toString();
    }

    <T> T get(String path, Class<T> type) {
        return call("GET", path, "", type);
    }

    <T> T post(String path, JsonObject body, Class<T> type) {
        // Not through GSON: a GOAWAY that closes nothing needs its null.
        return call("POST", path, body.toString(), type);
    }

    void post(String path, JsonObject body) {
        post(path, body, JsonObject.class);
    }

    void delete(String path) {
        call("DELETE", path, "", JsonObject.class);
    }

    private <T> T call(String method, String path, String body, Class<T> type) {
        String what = method + " " + path;
        HttpRequest request =
                HttpRequest.newBuilder(URI.create(base + path))
                        .timeout(TIMEOUT)
                        .header("content-type", "application/json")
                        .method(
                                method,
                                body.isEmpty()
                                        ? BodyPublishers.noBody()
                                        : BodyPublishers.ofString(body))
                        .build();
        HttpResponse<String> response;
        try {
            response = send(request);
        } catch (IOException e) {
            throw new EmulatorException(what + ": the server does not answer: " + e, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new EmulatorException(what + ": interrupted", e);
        }
        try {
            if (response.statusCode() / 100 == 2) {
                return GSON.fromJson(response.body(), type);
            }
            JsonObject answer = GSON.fromJson(response.body(), JsonObject.class);
            throw new EmulatorException(what + ": " + answer.get("error").getAsString());
        } catch (JsonSyntaxException | NullPointerException e) {
            throw new EmulatorException(
                    what + ": status " + response.statusCode() + ": " + response.body(), e);
        }
    }

    /**
     * A connection that was kept may be closed by the server just when it is used again; then the
     * request was not read, and is sent once more on a new one.
     */
    private HttpResponse<String> send(HttpRequest request)
            throws IOException, InterruptedException {
        try {
            return http.send(request, BodyHandlers.ofString());
        } catch (IOException e) {
            if (e.getMessage() == null || !e.getMessage().contains("received no bytes")) {
                throw e;
            }
            return http.send(request, BodyHandlers.ofString());
        }
    }
}

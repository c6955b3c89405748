package io.github.flinkpubsub.cluster;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Flink's REST API. Calls throw IOException when the cluster refuses or does not answer. */
final class Rest {
    private static final Gson GSON = new Gson();
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    private final String base;
    private final HttpClient http =
            HttpClient.newBuilder()
                    .version(HttpClient.Version.HTTP_1_1)
                    .connectTimeout(TIMEOUT)
                    .build();

    Rest(int port) {
        base = "http://127.0.0.1:" + port;
    }

    /** Slots that no job uses. */
    int freeSlots() throws IOException {
        return get("/overview").get("slots-available").getAsInt();
    }

    /** Such as {@code RUNNING} or {@code CANCELED}. */
    String status(String job) throws IOException {
        return get("/jobs/" + job).get("state").getAsString();
    }

    /** The number of running subtasks of all of a job's vertices; 0 while one is not running. */
    int runningSubtasks(String job) throws IOException {
        int running = 0;
        for (JsonElement vertex : get("/jobs/" + job).getAsJsonArray("vertices")) {
            int parallelism = vertex.getAsJsonObject().get("parallelism").getAsInt();
            JsonObject tasks = vertex.getAsJsonObject().getAsJsonObject("tasks");
            if (tasks.get("RUNNING").getAsInt() < parallelism) {
                return 0;
            }
            running += parallelism;
        }
        return running;
    }

    /** Resource ids of the task managers that run a job. */
    Set<String> taskManagers(String job) throws IOException {
        Set<String> ids = new HashSet<>();
        for (JsonElement vertex : get("/jobs/" + job).getAsJsonArray("vertices")) {
            String id = vertex.getAsJsonObject().get("id").getAsString();
            JsonObject detail = get("/jobs/" + job + "/vertices/" + id);
            for (JsonElement subtask : detail.getAsJsonArray("subtasks")) {
                ids.add(subtask.getAsJsonObject().get("taskmanager-id").getAsString());
            }
        }
        return ids;
    }

    /** Checkpoints that a job has completed since it was submitted. */
    int completedCheckpoints(String job) throws IOException {
        return get("/jobs/" + job + "/checkpoints")
                .getAsJsonObject("counts")
                .get("completed")
                .getAsInt();
    }

    /** How often a job was set back to a checkpoint or savepoint. */
    int restored(String job) throws IOException {
        return get("/jobs/" + job + "/checkpoints")
                .getAsJsonObject("counts")
                .get("restored")
                .getAsInt();
    }

    /** Starts to cancel a job. */
    void cancel(String job) throws IOException {
        send("PATCH", "/jobs/" + job + "?mode=cancel", BodyPublishers.noBody(), null);
    }

    /** Uploads a jar; answers its id. */
    String upload(Path jar) throws IOException {
        String boundary = "jar-of-the-job";
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        body.write(
                ("--"
                                + boundary
                                + "\r\n"
                                + "Content-Disposition: form-data; name=\"jarfile\"; filename=\""
                                + jar.getFileName()
                                + "\"\r\nContent-Type: application/x-java-archive\r\n\r\n")
                        .getBytes(StandardCharsets.UTF_8));
        body.write(Files.readAllBytes(jar));
        body.write(("\r\n--" + boundary + "--\r\n").getBytes(StandardCharsets.UTF_8));
        JsonObject answer =
                send(
                        "POST",
                        "/jars/upload",
                        BodyPublishers.ofByteArray(body.toByteArray()),
                        "multipart/form-data; boundary=" + boundary);
        String file = answer.get("filename").getAsString();
        return file.substring(file.lastIndexOf('/') + 1);
    }

    /** Runs a class of an uploaded jar; answers the job's id. */
    String run(String jar, String mainClass, int parallelism, String... arguments)
            throws IOException {
        Map<String, Object> body =
                Map.of(
                        "entryClass", mainClass,
                        "parallelism", parallelism,
                        "programArgsList", new ArrayList<>(List.of(arguments)));
        return send(
                        "POST",
                        "/jars/" + jar + "/run",
                        BodyPublishers.ofString(GSON.toJson(body)),
                        "application/json")
                .get("jobid")
                .getAsString();
    }

    JsonObject get(String path) throws IOException {
        return send("GET", path, BodyPublishers.noBody(), null);
    }

    private JsonObject send(String method, String path, BodyPublisher body, String type)
            throws IOException {
        HttpRequest.Builder request =
                HttpRequest.newBuilder(URI.create(base + path))
                        .timeout(TIMEOUT)
                        .method(method, body);
        if (type != null) {
            request.header("Content-Type", type);
        }
        try {
            HttpResponse<String> response = http.send(request.build(), BodyHandlers.ofString());
            if (response.statusCode() >= 300) {
                throw new IOException(
                        method + " " + path + ": " + response.statusCode() + " " + response.body());
            }
            return GSON.fromJson(response.body(), JsonObject.class);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException(e);
        }
    }
}

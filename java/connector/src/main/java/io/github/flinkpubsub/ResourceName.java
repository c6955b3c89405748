package io.github.flinkpubsub;

import java.util.regex.Pattern;

/** The grammar that topic and subscription names share: {@code projects/<project>/<kind>/<id>}. */
final class ResourceName {

    private static final int MIN_ID_LENGTH = 3;
    private static final int MAX_ID_LENGTH = 255;

    /** A project id or number, in front of it the domain of a domain-scoped project. */
    private static final Pattern PROJECT =
            Pattern.compile("([A-Za-z0-9][A-Za-z0-9.-]*:)?[A-Za-z0-9][A-Za-z0-9_-]*");

    private static final Pattern ID = Pattern.compile("[A-Za-z][A-Za-z0-9._~%+-]*");

    private ResourceName() {}

    static String checkProject(String project) {
        checkNotBlank("project", project);
        if (project.contains("/")) {
            throw new IllegalArgumentException(
                    "project must be an id such as 'my-project', not a path: '" + project + "'");
        }
        if (!PROJECT.matcher(project).matches()) {
            throw new IllegalArgumentException(
                    "project is not a valid project id such as 'my-project' or"
                            + " 'example.com:my-project': '"
                            + project
                            + "'");
        }
        return project;
    }

    static String checkId(Kind kind, String id) {
        checkNotBlank(kind.noun, id);
        if (id.contains("/")) {
            throw new IllegalArgumentException(
                    kind.noun
                            + " must be an id such as 'orders', not a path: '"
                            + id
                            + "'; use parse(…) for a path");
        }
        if (id.length() < MIN_ID_LENGTH || id.length() > MAX_ID_LENGTH) {
            throw new IllegalArgumentException(
                    kind.noun
                            + " must have "
                            + MIN_ID_LENGTH
                            + " to "
                            + MAX_ID_LENGTH
                            + " characters, not "
                            + id.length()
                            + ": '"
                            + id
                            + "'");
        }
        if (!ID.matcher(id).matches() || id.startsWith("goog")) {
            throw new IllegalArgumentException(
                    kind.noun
                            + " must start with a letter, not with 'goog', and consist of letters,"
                            + " digits and -._~%+ : '"
                            + id
                            + "'");
        }
        return id;
    }

    /** Splits a path into project and id, both checked. */
    static String[] parse(Kind kind, String path) {
        checkNotBlank(kind.noun, path);
        String[] parts = path.split("/", -1);
        if (parts.length != 4 || !parts[0].equals("projects")) {
            throw new IllegalArgumentException(
                    kind.noun
                            + " must be of the form projects/<project>/"
                            + kind.collection
                            + "/<id>: '"
                            + path
                            + "'");
        }
        if (!parts[2].equals(kind.collection)) {
            Kind other = kind == Kind.TOPIC ? Kind.SUBSCRIPTION : Kind.TOPIC;
            String what =
                    parts[2].equals(other.collection)
                            ? "names a " + other.noun + ", not a " + kind.noun
                            : "is not the name of a " + kind.noun;
            throw new IllegalArgumentException("'" + path + "' " + what);
        }
        return new String[] {checkProject(parts[1]), checkId(kind, parts[3])};
    }

    private static void checkNotBlank(String what, String text) {
        if (text == null || text.trim().isEmpty()) {
            throw new IllegalArgumentException(what + " must not be null or blank");
        }
    }

    enum Kind {
        TOPIC("topic", "topics"),
        SUBSCRIPTION("subscription", "subscriptions");

        final String noun;
        final String collection;

        Kind(String noun, String collection) {
            this.noun = noun;
            this.collection = collection;
        }
    }
}

package io.github.flinkpubsub.formats;

import java.util.Objects;

/** An ordinary class, which Avro reads and writes by its fields. */
public class Visit {

    public String page;
    public int seconds;

    public Visit() {}

    public Visit(String page, int seconds) {
        this.page = page;
        this.seconds = seconds;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Visit
                && page.equals(((Visit) other).page)
                && seconds == ((Visit) other).seconds;
    }

    @Override
    public int hashCode() {
        return Objects.hash(page, seconds);
    }

    @Override
    public String toString() {
        return page + " " + seconds;
    }
}

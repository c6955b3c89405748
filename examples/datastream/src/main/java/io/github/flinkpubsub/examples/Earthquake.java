package io.github.flinkpubsub.examples;

import java.time.Instant;

/** A line of {@code earthquakes.csv}, as a Flink POJO. */
public class Earthquake {
    public long timeMillis;
    public String id;
    public String network;
    public double magnitude;
    public String place;

    public Earthquake() {}

    /**
     * Reads a line: {@code time,id,network,magnitude,depth,latitude,longitude,place,type}; only the
     * place may be quoted.
     */
    static Earthquake parse(String line) {
        String[] head = line.split(",", 8);
        String rest = head[7];
        Earthquake earthquake = new Earthquake();
        earthquake.timeMillis = Instant.parse(head[0]).toEpochMilli();
        earthquake.id = head[1];
        earthquake.network = head[2];
        earthquake.magnitude = Double.parseDouble(head[3]);
        earthquake.place =
                rest.startsWith("\"")
                        ? rest.substring(1, rest.indexOf('"', 1))
                        : rest.split(",", 2)[0];
        return earthquake;
    }
}

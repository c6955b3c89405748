package io.github.flinkpubsub.examples;

/** What one seismic network saw on one day (UTC), as a Flink POJO. */
public class NetworkDay {
    private static final String SEPARATOR = "\t";

    public String day;
    public String network;
    public int earthquakes;
    public double strongest;
    public String place;

    public NetworkDay() {}

    /** One line of text, the payload of a result's message. */
    String encode() {
        return String.join(
                SEPARATOR,
                day,
                network,
                String.valueOf(earthquakes),
                String.valueOf(strongest),
                place);
    }

    static NetworkDay decode(String payload) {
        String[] fields = payload.split(SEPARATOR);
        NetworkDay result = new NetworkDay();
        result.day = fields[0];
        result.network = fields[1];
        result.earthquakes = Integer.parseInt(fields[2]);
        result.strongest = Double.parseDouble(fields[3]);
        result.place = fields[4];
        return result;
    }
}

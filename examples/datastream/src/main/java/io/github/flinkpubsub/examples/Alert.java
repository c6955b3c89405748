package io.github.flinkpubsub.examples;

/** A strong earthquake, as a Flink POJO. */
public class Alert {
    public String id;
    public String network;

    /** The how manieth of its network. */
    public int number;

    public double magnitude;
    public String place;

    public Alert() {}

    /** One line of text, the payload of its message. */
    String encode() {
        return String.join(
                "\t", id, network, String.valueOf(number), String.valueOf(magnitude), place);
    }
}

package io.github.flinkpubsub.interop;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Random;

/**
 * A message's content, as a Flink POJO. The number is an attribute, so that a reader finds it
 * again.
 */
public class Event {
    static final String NUMBER = "number";
    private static final int KEYS = 97;
    private static final int MAX_DATA = 300;

    public int number;
    public byte[] data;
    public Map<String, String> attributes;
    public String orderingKey;

    public Event() {}

    Event(byte[] data, Map<String, String> attributes, String orderingKey) {
        this.number = Integer.parseInt(attributes.get(NUMBER));
        this.data = data;
        this.attributes = new HashMap<>(attributes);
        this.orderingKey = orderingKey;
    }

    /**
     * Event {@code number}: arbitrary bytes, often none, text that is hard on encoders, one of 97
     * keys.
     */
    static Event numbered(int number) {
        Random random = new Random(number);
        byte[] data = new byte[number % 50 == 0 ? 0 : random.nextInt(MAX_DATA)];
        random.nextBytes(data);
        Map<String, String> attributes = new HashMap<>();
        attributes.put(NUMBER, String.valueOf(number));
        attributes.put("text", "é😀\u0000\t" + Integer.toString(random.nextInt(), 36));
        attributes.put("empty", "");
        return new Event(data, attributes, "clé-" + number % KEYS);
    }

    @Override
    public boolean equals(Object other) {
        if (!(other instanceof Event)) {
            return false;
        }
        Event that = (Event) other;
        return number == that.number
                && Arrays.equals(data, that.data)
                && attributes.equals(that.attributes)
                && Objects.equals(orderingKey, that.orderingKey);
    }

    @Override
    public int hashCode() {
        return number;
    }

    @Override
    public String toString() {
        return "Event "
                + number
                + " key "
                + orderingKey
                + " attributes "
                + attributes
                + " data "
                + new String(data, StandardCharsets.ISO_8859_1);
    }
}

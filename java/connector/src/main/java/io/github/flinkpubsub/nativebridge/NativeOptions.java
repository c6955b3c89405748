package io.github.flinkpubsub.nativebridge;

import io.github.flinkpubsub.AccessTokenProvider;

import org.apache.flink.annotation.Internal;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

import javax.annotation.Nullable;

/** The options of a native client: keys and values, encoded as the boundary wants them. */
@Internal
public final class NativeOptions {

    private final Map<String, String> values = new LinkedHashMap<>();
    @Nullable private AccessTokenProvider accessTokenProvider;

    /** Sets a text. */
    public NativeOptions put(String key, String value) {
        values.put(key, value);
        return this;
    }

    /** Sets a number. */
    public NativeOptions put(String key, long value) {
        return put(key, Long.toString(value));
    }

    /** Sets a decimal number. */
    public NativeOptions put(String key, double value) {
        return put(key, Double.toString(value));
    }

    /** Sets a flag. */
    public NativeOptions put(String key, boolean value) {
        return put(key, Boolean.toString(value));
    }

    /** Sets a duration; the unit is the millisecond. */
    public NativeOptions put(String key, Duration value) {
        return put(key, value.toMillis());
    }

    /** Sets a text unless it is null. */
    public NativeOptions putIfSet(String key, @Nullable String value) {
        return value == null ? this : put(key, value);
    }

    /** Sets a duration unless it is null. */
    public NativeOptions putIfSet(String key, @Nullable Duration value) {
        return value == null ? this : put(key, value);
    }

    /** Sets who gets the access tokens; null for the native library itself. */
    public NativeOptions accessTokenProvider(@Nullable AccessTokenProvider provider) {
        accessTokenProvider = provider;
        return this;
    }

    @Nullable
    AccessTokenProvider accessTokenProvider() {
        return accessTokenProvider;
    }

    /** What has been set, in the order of setting. */
    public Map<String, String> asMap() {
        return values;
    }

    byte[] encode() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        values.forEach(
                (key, value) -> {
                    write(out, key);
                    write(out, value);
                });
        return out.toByteArray();
    }

    /** The pairs of an answer, which come in the same form. */
    static Map<String, String> decode(byte[] pairs) {
        Map<String, String> values = new LinkedHashMap<>();
        ByteBuffer in = ByteBuffer.wrap(pairs);
        while (in.hasRemaining()) {
            String key = read(in);
            values.put(key, read(in));
        }
        return values;
    }

    private static String read(ByteBuffer in) {
        byte[] utf8 = new byte[in.getInt()];
        in.get(utf8);
        return new String(utf8, StandardCharsets.UTF_8);
    }

    private static void write(ByteArrayOutputStream out, String text) {
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        for (int shift = 24; shift >= 0; shift -= 8) {
            out.write(utf8.length >>> shift);
        }
        out.write(utf8, 0, utf8.length);
    }
}

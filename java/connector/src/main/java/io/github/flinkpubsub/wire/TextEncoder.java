package io.github.flinkpubsub.wire;

import org.apache.flink.annotation.Internal;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetEncoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;

/**
 * Text as UTF-8 in an array that is used again and again: 1 KiB takes half the time of {@code
 * String.getBytes}, whose new array is cold memory. Not thread-safe.
 */
@Internal
public final class TextEncoder {

    /** Longer texts are left to {@code String.getBytes}; the arrays take 5 bytes a character. */
    public static final int MAX_CHARS = 64 << 10;

    private static final int FIRST_CHARS = 1 << 10;
    private static final int MAX_BYTES_PER_CHAR = 3;

    private final CharsetEncoder encoder =
            StandardCharsets.UTF_8
                    .newEncoder()
                    .onMalformedInput(CodingErrorAction.REPLACE)
                    .onUnmappableCharacter(CodingErrorAction.REPLACE);

    private CharBuffer chars;
    private ByteBuffer bytes;

    public TextEncoder() {
        allocate(FIRST_CHARS);
    }

    /** Whether this JVM encodes arrays of characters fast; before 17 it does it one by one. */
    public static boolean isFast() {
        return Runtime.version().feature() >= 17;
    }

    /**
     * Encodes a text of at most {@link #MAX_CHARS}, as {@code String.getBytes} does: half of a
     * surrogate pair becomes a question mark.
     *
     * @return the length in {@link #array()}
     */
    public int encode(String text) {
        int length = text.length();
        if (length > chars.capacity()) {
            allocate(Math.min(MAX_CHARS, Math.max(length, 2 * chars.capacity())));
        }
        text.getChars(0, length, chars.array(), 0);
        chars.position(0).limit(length);
        bytes.clear();
        encoder.reset();
        encoder.encode(chars, bytes, true);
        encoder.flush(bytes);
        return bytes.position();
    }

    /** Holds the last text from index 0 on. */
    public byte[] array() {
        return bytes.array();
    }

    private void allocate(int length) {
        chars = CharBuffer.allocate(length);
        bytes = ByteBuffer.allocate(MAX_BYTES_PER_CHAR * length);
    }
}

package io.github.flinkpubsub.wire;

import org.apache.flink.annotation.Internal;

/** UTF-8 written straight into an array. Text is expected to be short and mostly ASCII. */
@Internal
public final class Utf8 {

    private Utf8() {}

    /**
     * The length in bytes, or, when the text has a surrogate without its other half, which UTF-8
     * cannot express, {@code -1 - index} of it.
     */
    public static int length(String text) {
        int chars = text.length();
        for (int i = 0; i < chars; i++) {
            if (text.charAt(i) >= 0x80) {
                return lengthFrom(text, i);
            }
        }
        return chars;
    }

    private static int lengthFrom(String text, int ascii) {
        int bytes = ascii;
        for (int i = ascii; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c < 0x80) {
                bytes++;
            } else if (c < 0x800) {
                bytes += 2;
            } else if (!Character.isSurrogate(c)) {
                bytes += 3;
            } else if (Character.isHighSurrogate(c)
                    && i + 1 < text.length()
                    && Character.isLowSurrogate(text.charAt(i + 1))) {
                bytes += 4;
                i++;
            } else {
                return -1 - i;
            }
        }
        return bytes;
    }

    /**
     * Writes a text whose length {@link #length} has told.
     *
     * @return the position behind it
     */
    public static int write(String text, int length, byte[] target, int position) {
        if (length == text.length()) {
            writeAscii(text, target, position);
            return position + length;
        }
        int at = position;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c < 0x80) {
                target[at++] = (byte) c;
            } else if (c < 0x800) {
                target[at++] = (byte) (0xc0 | c >> 6);
                target[at++] = (byte) (0x80 | c & 0x3f);
            } else if (!Character.isSurrogate(c)) {
                target[at++] = (byte) (0xe0 | c >> 12);
                target[at++] = (byte) (0x80 | c >> 6 & 0x3f);
                target[at++] = (byte) (0x80 | c & 0x3f);
            } else {
                int codePoint = Character.toCodePoint(c, text.charAt(++i));
                target[at++] = (byte) (0xf0 | codePoint >> 18);
                target[at++] = (byte) (0x80 | codePoint >> 12 & 0x3f);
                target[at++] = (byte) (0x80 | codePoint >> 6 & 0x3f);
                target[at++] = (byte) (0x80 | codePoint & 0x3f);
            }
        }
        return at;
    }

    /** The deprecated method drops the upper halves of characters; ASCII has none. */
    @SuppressWarnings("deprecation")
    private static void writeAscii(String text, byte[] target, int position) {
        text.getBytes(0, text.length(), target, position);
    }
}

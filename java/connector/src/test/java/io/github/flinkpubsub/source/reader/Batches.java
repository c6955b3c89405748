package io.github.flinkpubsub.source.reader;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.WireFormat;
import com.google.pubsub.v1.PubsubMessage;

import io.github.flinkpubsub.nativebridge.NativeBatch;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;

/** Fills batches as the native library does. */
final class Batches {

    private Batches() {}

    /**
     * Messages that carry what {@link PubsubMessage} has; a delivery attempt of 0; none skipped.
     */
    static void fill(NativeBatch batch, int split, long first, List<PubsubMessage> messages) {
        fill(batch, split, first, messages, new int[messages.size()]);
    }

    /**
     * @param flags for each message the delivery attempt times 512, plus 256 for one to be skipped
     */
    static void fill(
            NativeBatch batch, int split, long first, List<PubsubMessage> messages, int[] flags) {
        int total = messages.stream().mapToInt(PubsubMessage::getSerializedSize).sum();
        batch.grow(total, (long) messages.size() * NativeBatch.STRIDE);
        int at = 0;
        for (int i = 0; i < messages.size(); i++) {
            byte[] encoded = messages.get(i).toByteArray();
            System.arraycopy(encoded, 0, batch.data(), at, encoded.length);
            describe(batch.index(), i * NativeBatch.STRIDE, at, encoded, messages.get(i), flags[i]);
            at += encoded.length;
        }
        batch.filled(messages.size(), split, first);
    }

    private static void describe(
            int[] index, int entry, int at, byte[] encoded, PubsubMessage message, int flags) {
        Arrays.fill(index, entry, entry + NativeBatch.STRIDE, 0);
        try {
            CodedInputStream in = CodedInputStream.newInstance(encoded);
            int tag;
            while ((tag = in.readTag()) != 0) {
                int field = WireFormat.getTagFieldNumber(tag);
                if (field == 1 || field == 3 || field == 5) {
                    int length = in.readRawVarint32();
                    int slot = field == 1 ? 0 : field == 3 ? 2 : 4;
                    index[entry + slot] = at + in.getTotalBytesRead();
                    index[entry + slot + 1] = length;
                    in.skipRawBytes(length);
                } else {
                    in.skipField(tag);
                }
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        long seconds = message.getPublishTime().getSeconds();
        index[entry + 6] = at;
        index[entry + 7] = encoded.length;
        index[entry + 8] = (int) (seconds >> 32);
        index[entry + 9] = (int) seconds;
        index[entry + 10] = message.getPublishTime().getNanos();
        index[entry + 11] = message.getAttributesCount() | flags;
    }
}

package io.github.flinkpubsub.formats;

import com.google.protobuf.Message;

import org.apache.flink.annotation.Internal;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSchemaCompatibility;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;

import java.io.IOException;

import javax.annotation.Nullable;

/**
 * Writes a message as its length (int) and its bytes in protobuf's form.
 *
 * @param <T> the messages' class
 */
@Internal
public final class ProtobufSerializer<T extends Message> extends TypeSerializer<T> {

    private static final long serialVersionUID = 1L;

    private final MessageKind<T> kind;

    ProtobufSerializer(MessageKind<T> kind) {
        this.kind = kind;
    }

    @Override
    public boolean isImmutableType() {
        return true;
    }

    @Override
    public TypeSerializer<T> duplicate() {
        return this;
    }

    @Override
    public T createInstance() {
        return kind.prototype();
    }

    @Override
    public T copy(T from) {
        return from;
    }

    @Override
    public T copy(T from, T reuse) {
        return from;
    }

    @Override
    public int getLength() {
        return -1;
    }

    @Override
    public void serialize(T message, DataOutputView out) throws IOException {
        byte[] bytes = message.toByteArray();
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    @Override
    public T deserialize(DataInputView in) throws IOException {
        byte[] bytes = new byte[in.readInt()];
        in.readFully(bytes);
        return kind.parse(bytes);
    }

    @Override
    public T deserialize(T reuse, DataInputView in) throws IOException {
        return deserialize(in);
    }

    @Override
    public void copy(DataInputView in, DataOutputView out) throws IOException {
        byte[] bytes = new byte[in.readInt()];
        in.readFully(bytes);
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ProtobufSerializer
                && kind.equals(((ProtobufSerializer<?>) other).kind);
    }

    @Override
    public int hashCode() {
        return kind.hashCode();
    }

    @Override
    public TypeSerializerSnapshot<T> snapshotConfiguration() {
        return new Snapshot<>(kind);
    }

    /**
     * Version 1: whether there are descriptors (boolean), the name (UTF), and the descriptors'
     * length (int) and bytes.
     *
     * @param <T> the messages' class
     */
    public static final class Snapshot<T extends Message> implements TypeSerializerSnapshot<T> {

        private static final int VERSION = 1;

        @Nullable private MessageKind<T> kind;

        /** For reading one. */
        public Snapshot() {}

        Snapshot(MessageKind<T> kind) {
            this.kind = kind;
        }

        @Override
        public int getCurrentVersion() {
            return VERSION;
        }

        @Override
        public void writeSnapshot(DataOutputView out) throws IOException {
            byte[] files = kind.files();
            out.writeBoolean(files != null);
            out.writeUTF(kind.name());
            if (files != null) {
                out.writeInt(files.length);
                out.write(files);
            }
        }

        @Override
        @SuppressWarnings("unchecked")
        public void readSnapshot(int version, DataInputView in, ClassLoader classLoader)
                throws IOException {
            if (version != VERSION) {
                throw new IOException(
                        "a protobuf serializer's snapshot of version " + version + " is not known");
            }
            boolean dynamic = in.readBoolean();
            String name = in.readUTF();
            if (dynamic) {
                byte[] files = new byte[in.readInt()];
                in.readFully(files);
                kind = (MessageKind<T>) MessageKind.of(files, name);
            } else {
                kind = MessageKind.of((Class<T>) load(name, classLoader));
            }
        }

        private static Class<?> load(String name, ClassLoader classLoader) throws IOException {
            try {
                return Class.forName(name, true, classLoader);
            } catch (ClassNotFoundException e) {
                throw new IOException("the class of the state's messages is gone: " + name, e);
            }
        }

        @Override
        public TypeSerializer<T> restoreSerializer() {
            return new ProtobufSerializer<>(kind);
        }

        /** Messages of one name are read whatever fields they have. */
        @Override
        public TypeSerializerSchemaCompatibility<T> resolveSchemaCompatibility(
                TypeSerializerSnapshot<T> old) {
            return old instanceof Snapshot && kind.isCompatibleWith(((Snapshot<T>) old).kind)
                    ? TypeSerializerSchemaCompatibility.compatibleAsIs()
                    : TypeSerializerSchemaCompatibility.incompatible();
        }
    }
}

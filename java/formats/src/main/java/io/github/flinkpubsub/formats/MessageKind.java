package io.github.flinkpubsub.formats;

import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.DescriptorValidationException;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.Parser;

import java.io.IOException;
import java.io.Serializable;
import java.util.LinkedHashMap;
import java.util.Map;

import javax.annotation.Nullable;

/**
 * Which protobuf messages are meant: those of a generated class, or those of a descriptor, which
 * travels with the files that define it.
 *
 * @param <T> the messages' class
 */
final class MessageKind<T extends Message> implements Serializable {

    private static final long serialVersionUID = 1L;

    private final Class<T> type;
    @Nullable private final byte[] files;
    private final String name;
    @Nullable private transient T prototype;

    private MessageKind(Class<T> type, @Nullable byte[] files, String name) {
        this.type = type;
        this.files = files;
        this.name = name;
    }

    static <T extends Message> MessageKind<T> of(Class<T> type) {
        MessageKind<T> kind = new MessageKind<>(type, null, type.getName());
        kind.prototype();
        return kind;
    }

    static MessageKind<DynamicMessage> of(Descriptor descriptor) {
        Map<String, FileDescriptorProto> files = new LinkedHashMap<>();
        collect(descriptor.getFile(), files);
        return of(
                FileDescriptorSet.newBuilder().addAllFile(files.values()).build().toByteArray(),
                descriptor.getFullName());
    }

    /**
     * @param files a {@code FileDescriptorSet} in which every file comes after those it imports
     * @param name of the message, in full
     */
    static MessageKind<DynamicMessage> of(byte[] files, String name) {
        MessageKind<DynamicMessage> kind = new MessageKind<>(DynamicMessage.class, files, name);
        kind.prototype();
        return kind;
    }

    private static void collect(FileDescriptor file, Map<String, FileDescriptorProto> files) {
        for (FileDescriptor dependency : file.getDependencies()) {
            if (!files.containsKey(dependency.getName())) {
                collect(dependency, files);
            }
        }
        files.put(file.getName(), file.toProto());
    }

    Class<T> type() {
        return type;
    }

    /** The defining files; null for a generated class. */
    @Nullable
    byte[] files() {
        return files;
    }

    /** The class's name, or the message's full name. */
    String name() {
        return name;
    }

    Descriptor descriptor() {
        return prototype().getDescriptorForType();
    }

    /** A message without fields. */
    T prototype() {
        if (prototype == null) {
            prototype = files == null ? ofClass() : ofDescriptor();
        }
        return prototype;
    }

    Parser<T> parser() {
        // A message's parser is one of messages of its own class.
        @SuppressWarnings("unchecked")
        Parser<T> parser = (Parser<T>) prototype().getParserForType();
        return parser;
    }

    private T ofClass() {
        try {
            return type.cast(type.getMethod("getDefaultInstance").invoke(null));
        } catch (ReflectiveOperationException | ClassCastException e) {
            throw new IllegalArgumentException(
                    type.getName() + " is not a class that protoc has generated", e);
        }
    }

    private T ofDescriptor() {
        try {
            Map<String, FileDescriptor> built = new LinkedHashMap<>();
            for (FileDescriptorProto file : FileDescriptorSet.parseFrom(files).getFileList()) {
                FileDescriptor[] dependencies =
                        file.getDependencyList().stream()
                                .map(built::get)
                                .toArray(FileDescriptor[]::new);
                built.put(file.getName(), FileDescriptor.buildFrom(file, dependencies));
            }
            for (FileDescriptor file : built.values()) {
                for (Descriptor top : file.getMessageTypes()) {
                    Descriptor found = find(top);
                    if (found != null) {
                        return type.cast(DynamicMessage.getDefaultInstance(found));
                    }
                }
            }
        } catch (InvalidProtocolBufferException | DescriptorValidationException e) {
            throw new IllegalArgumentException("the descriptors of " + name + " are not valid", e);
        }
        throw new IllegalArgumentException("the descriptors do not have the message " + name);
    }

    @Nullable
    private Descriptor find(Descriptor descriptor) {
        if (descriptor.getFullName().equals(name)) {
            return descriptor;
        }
        for (Descriptor nested : descriptor.getNestedTypes()) {
            Descriptor found = find(nested);
            if (found != null) {
                return found;
            }
        }
        return null;
    }

    T parse(byte[] bytes) throws IOException {
        return parser().parseFrom(bytes);
    }

    /** Whether messages of the other are these as well; their fields may have changed. */
    boolean isCompatibleWith(MessageKind<?> other) {
        return type == other.type && name.equals(other.name);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof MessageKind && isCompatibleWith((MessageKind<?>) other);
    }

    @Override
    public int hashCode() {
        return name.hashCode();
    }

    @Override
    public String toString() {
        return name;
    }
}

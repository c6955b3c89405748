package io.github.flinkpubsub.formats;

import org.apache.avro.Schema;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.avro.reflect.ReflectData;
import org.apache.avro.reflect.ReflectDatumReader;
import org.apache.avro.reflect.ReflectDatumWriter;
import org.apache.flink.api.common.serialization.AbstractDeserializationSchema;
import org.apache.flink.api.common.serialization.SerializationSchema;
import org.apache.flink.api.common.typeinfo.TypeInformation;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;

/** Avro by the fields of ordinary classes, which Flink's own schemas leave out. */
final class ReflectAvro {

    private ReflectAvro() {}

    private static ReflectData data(Class<?> type) {
        return new ReflectData(type.getClassLoader());
    }

    static final class Reading<T> extends AbstractDeserializationSchema<T> {

        private static final long serialVersionUID = 1L;

        private final Class<T> type;
        private transient ReflectDatumReader<T> reader;
        private transient BinaryDecoder decoder;

        Reading(Class<T> type, TypeInformation<T> info) {
            super(info);
            this.type = type;
        }

        @Override
        public T deserialize(byte[] payload) throws IOException {
            if (reader == null) {
                ReflectData data = data(type);
                Schema schema = data.getSchema(type);
                reader = new ReflectDatumReader<>(schema, schema, data);
            }
            decoder = DecoderFactory.get().binaryDecoder(payload, decoder);
            return reader.read(null, decoder);
        }
    }

    static final class Writing<T> implements SerializationSchema<T> {

        private static final long serialVersionUID = 1L;

        private final Class<T> type;
        private transient ReflectDatumWriter<T> writer;
        private transient BinaryEncoder encoder;

        Writing(Class<T> type) {
            this.type = type;
        }

        @Override
        public byte[] serialize(T record) {
            try {
                if (writer == null) {
                    ReflectData data = data(type);
                    writer = new ReflectDatumWriter<>(data.getSchema(type), data);
                }
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                encoder = EncoderFactory.get().directBinaryEncoder(out, encoder);
                writer.write(record, encoder);
                encoder.flush();
                return out.toByteArray();
            } catch (IOException e) {
                throw new UncheckedIOException(e.getMessage(), e);
            }
        }
    }
}

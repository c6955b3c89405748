package io.github.flinkpubsub.formats;

import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.avro.specific.SpecificRecordBase;

/** A record as Avro generates it, with the parts that count. */
@org.apache.avro.specific.AvroGenerated
public class Purchase extends SpecificRecordBase {

    public static final Schema SCHEMA$ =
            new Schema.Parser()
                    .parse(
                            "{\"type\":\"record\",\"name\":\"Purchase\",\"namespace\":"
                                    + "\"io.github.flinkpubsub.formats\",\"fields\":["
                                    + "{\"name\":\"buyer\",\"type\":{\"type\":\"string\","
                                    + "\"avro.java.string\":\"String\"}},"
                                    + "{\"name\":\"amount\",\"type\":\"long\"}]}");

    private static final long serialVersionUID = 1L;

    public String buyer;
    public long amount;

    public Purchase() {}

    public Purchase(String buyer, long amount) {
        this.buyer = buyer;
        this.amount = amount;
    }

    public static Schema getClassSchema() {
        return SCHEMA$;
    }

    @Override
    public Schema getSchema() {
        return SCHEMA$;
    }

    @Override
    public Object get(int field) {
        switch (field) {
            case 0:
                return buyer;
            case 1:
                return amount;
            default:
                throw new AvroRuntimeException("no field " + field);
        }
    }

    @Override
    public void put(int field, Object value) {
        if (field == 0) {
            buyer = value == null ? null : value.toString();
        } else {
            amount = (Long) value;
        }
    }
}

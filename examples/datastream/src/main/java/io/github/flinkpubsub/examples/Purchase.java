package io.github.flinkpubsub.examples;

/** Who bought what and when; a POJO, as Flink serializes it best. */
public final class Purchase {

    private String buyer;
    private String product;
    private long timestamp;

    /** For Flink. */
    public Purchase() {}

    Purchase(String buyer, String product, long timestamp) {
        this.buyer = buyer;
        this.product = product;
        this.timestamp = timestamp;
    }

    public String getBuyer() {
        return buyer;
    }

    public void setBuyer(String buyer) {
        this.buyer = buyer;
    }

    public String getProduct() {
        return product;
    }

    public void setProduct(String product) {
        this.product = product;
    }

    /** In milliseconds since the epoch. */
    public long getTimestamp() {
        return timestamp;
    }

    public void setTimestamp(long timestamp) {
        this.timestamp = timestamp;
    }
}

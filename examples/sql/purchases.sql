-- Publishes a few purchases: the product as the payload, the buyer and the time as attributes.
-- With the SQL client: bin/sql-client.sh -j flink-connector-pubsub-native.jar -f purchases.sql

CREATE TABLE purchases (
    product STRING,
    attributes MAP<STRING, STRING> METADATA
) WITH (
    'connector' = 'pubsub',
    'project' = 'my-project',
    'topic' = 'purchases',
    'format' = 'raw'
);

INSERT INTO purchases
SELECT product, MAP['buyer', buyer, 'timestamp', CAST(bought AS STRING)]
FROM (VALUES
    ('Robert', 'TV', 1613141590000),
    ('Maria', 'Phone', 1612718280000),
    ('Juan', 'Laptop', 1611618000000),
    ('Rebeca', 'Video game', 1610000000000)
) AS example (buyer, product, bought);

"""Publishes orders and sums them up by customer: a job of PyFlink's Table API on Pub/Sub.

    pip install apache-flink==2.2.0
    python examples/pyflink/orders.py --jar /path/flink-connector-pubsub-native.jar --emulator localhost:8085

With the jar in Flink's lib folder and the job submitted by `flink run -py`, leave out --jar. Topic and subscription must
exist: `gcloud pubsub topics create orders`, `gcloud pubsub subscriptions create orders-sub --topic=orders`.
"""

import argparse
from pathlib import Path

from pyflink.table import DataTypes, EnvironmentSettings, FormatDescriptor, Schema, TableDescriptor, TableEnvironment
from pyflink.table.expressions import col

ORDERS = [("customer-1", 10), ("customer-2", 5), ("customer-1", 20)]


def orders_table(options):
    """The same table to write and to read; reading ends after three seconds of silence."""
    table = (
        TableDescriptor.for_connector("pubsub")
        .schema(
            Schema.new_builder()
            .column("customer", DataTypes.STRING())
            .column("amount", DataTypes.INT())
            .column_by_metadata("attributes", DataTypes.MAP(DataTypes.STRING(), DataTypes.STRING()))
            .build()
        )
        .format(FormatDescriptor.for_format("json").build())
        .option("project", options.project)
        .option("topic", options.topic)
        .option("subscription", options.subscription)
        .option("scan.bounded.mode", "idle")
        .option("scan.bounded.idle-timeout", "3 s")
    )
    if options.emulator:
        table = table.option("emulator-endpoint", options.emulator)
    return table.build()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jar", help="the connector's jar, where it is not in Flink's lib folder")
    parser.add_argument("--emulator", help="host:port of an emulator")
    parser.add_argument("--project", default="my-project")
    parser.add_argument("--topic", default="orders")
    parser.add_argument("--subscription", default="orders-sub")
    options = parser.parse_args()

    # Batch: the sums are printed once, and what was read is acknowledged when the job ends.
    env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    if options.jar:
        env.get_config().set("pipeline.jars", Path(options.jar).resolve().as_uri())
    env.create_temporary_table("orders", orders_table(options))

    rows = [(customer, amount, {"source": "pyflink"}) for customer, amount in ORDERS]
    row_type = DataTypes.ROW(
        [
            DataTypes.FIELD("customer", DataTypes.STRING()),
            DataTypes.FIELD("amount", DataTypes.INT()),
            DataTypes.FIELD("attributes", DataTypes.MAP(DataTypes.STRING(), DataTypes.STRING())),
        ]
    )
    env.from_elements(rows, row_type).execute_insert("orders").wait()
    print(f"Published {len(rows)} orders")

    orders = env.from_path("orders").where(col("attributes").at("source") == "pyflink")
    sums = orders.group_by(col("customer")).select(col("customer"), col("amount").sum.alias("total"))
    with sums.execute().collect() as results:
        for customer, total in sorted(tuple(row) for row in results):
            print(f"{customer}: {total}")


if __name__ == "__main__":
    main()

//! The native half of the Flink connector for Google Cloud Pub/Sub.

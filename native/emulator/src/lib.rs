//! An in-memory Google Cloud Pub/Sub server.

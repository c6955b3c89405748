//! Checks of requests, with errors that name the field.

use std::collections::HashMap;
use std::time::Duration;

use googleapis_tonic_google_pubsub_v1::google::pubsub::v1::PubsubMessage;

use super::error::{Error, Result};
use super::limits;
use crate::time::duration_from_proto;

pub(crate) fn ack_deadline(field: &str, secs: i32) -> Result<()> {
    let (min, max) = limits::ACK_DEADLINE_SECS;
    if (min..=max).contains(&secs) {
        return Ok(());
    }
    Err(Error::invalid(
        field,
        format!("{secs} s is not within {min} s and {max} s"),
    ))
}

pub(crate) fn duration_in(
    field: &str,
    duration: &prost_types::Duration,
    (min, max): (Duration, Duration),
) -> Result<Duration> {
    match duration_from_proto(duration) {
        Some(d) if d >= min && d <= max => Ok(d),
        _ => Err(Error::invalid(
            field,
            format!(
                "{} s is not within {} s and {} s",
                duration.seconds,
                min.as_secs(),
                max.as_secs()
            ),
        )),
    }
}

pub(crate) fn labels(field: &str, labels: &HashMap<String, String>) -> Result<()> {
    if labels.len() > limits::LABELS {
        return Err(Error::invalid(
            field,
            format!(
                "{} labels, at most {} are allowed",
                labels.len(),
                limits::LABELS
            ),
        ));
    }
    let legal = |c: char| {
        c.is_lowercase()
            || c.is_numeric()
            || c == '_'
            || c == '-'
            || (c.is_alphabetic() && !c.is_uppercase())
    };
    for (key, value) in labels {
        let first = key.chars().next();
        if first.is_none_or(|c| !c.is_alphabetic() || c.is_uppercase())
            || key.chars().count() > 63
            || !key.chars().all(legal)
        {
            return Err(Error::invalid(
                field,
                format!(
                    "the key {key:?} must start with a lowercase letter and hold at most 63 lowercase letters, digits, _ and -"
                ),
            ));
        }
        if value.chars().count() > 63 || !value.chars().all(legal) {
            return Err(Error::invalid(
                field,
                format!(
                    "the value of {key:?} may hold at most 63 lowercase letters, digits, _ and -"
                ),
            ));
        }
    }
    Ok(())
}

/// Checks the messages of a Publish request against every limit of a message.
pub(crate) fn messages(messages: &[PubsubMessage]) -> Result<()> {
    if messages.is_empty() {
        return Err(Error::invalid("messages", "the request holds no message"));
    }
    if messages.len() > limits::PUBLISH_MESSAGES {
        return Err(Error::invalid(
            "messages",
            format!(
                "{} messages in one request, at most {} are allowed",
                messages.len(),
                limits::PUBLISH_MESSAGES
            ),
        ));
    }
    for (i, message) in messages.iter().enumerate() {
        one_message(i, message)?;
    }
    // Every message of a request carries the same key, or none.
    if let Some(i) = messages
        .iter()
        .position(|m| m.ordering_key != messages[0].ordering_key)
    {
        return Err(Error::invalid(
            &format!("messages[{i}].ordering_key"),
            "all messages of a request must have the same ordering key",
        ));
    }
    Ok(())
}

fn one_message(i: usize, message: &PubsubMessage) -> Result<()> {
    let fail = |field: &str, problem: String| {
        Err(Error::invalid(&format!("messages[{i}].{field}"), problem))
    };
    let too_long = |len: usize, max: usize| format!("{len} bytes, at most {max} are allowed");
    if message.data.is_empty() && message.attributes.is_empty() {
        return fail(
            "data",
            "a message needs data or at least one attribute".into(),
        );
    }
    if message.data.len() > limits::MESSAGE_DATA_BYTES {
        return fail(
            "data",
            too_long(message.data.len(), limits::MESSAGE_DATA_BYTES),
        );
    }
    if message.attributes.len() > limits::ATTRIBUTES {
        let problem = format!(
            "{} attributes, at most {} are allowed",
            message.attributes.len(),
            limits::ATTRIBUTES
        );
        return fail("attributes", problem);
    }
    for (key, value) in &message.attributes {
        if key.is_empty() {
            return fail("attributes", "an attribute's key is empty".into());
        }
        if key.len() > limits::ATTRIBUTE_KEY_BYTES {
            return fail(
                "attributes",
                format!(
                    "key of {}",
                    too_long(key.len(), limits::ATTRIBUTE_KEY_BYTES)
                ),
            );
        }
        if key.starts_with("goog") {
            return fail(
                "attributes",
                format!("the key {key:?} starts with the reserved goog"),
            );
        }
        if value.len() > limits::ATTRIBUTE_VALUE_BYTES {
            let problem = format!(
                "value of {key:?} of {}",
                too_long(value.len(), limits::ATTRIBUTE_VALUE_BYTES)
            );
            return fail("attributes", problem);
        }
    }
    if message.ordering_key.len() > limits::ORDERING_KEY_BYTES {
        return fail(
            "ordering_key",
            too_long(message.ordering_key.len(), limits::ORDERING_KEY_BYTES),
        );
    }
    Ok(())
}

//! Checks of requests, with errors that name the field.

use std::collections::HashMap;
use std::time::Duration;

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

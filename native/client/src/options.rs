//! Options as they cross the boundary: pairs of a key and a text.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use crate::error::Error;

/// The options that no one has read yet. Each reader takes its own; what is left at the end is unknown.
#[derive(Debug, Default)]
pub struct Options {
    pairs: BTreeMap<String, String>,
}

impl Options {
    /// Collects pairs; a key that comes twice is refused.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (String, String)>) -> Result<Self, Error> {
        let mut options = Self::default();
        for (key, value) in pairs {
            if options.pairs.contains_key(&key) {
                return Err(Error::option(&key, "given twice"));
            }
            options.pairs.insert(key, value);
        }
        Ok(options)
    }

    /// Takes a text.
    pub fn take(&mut self, key: &'static str) -> Option<String> {
        self.pairs.remove(key)
    }

    /// Takes a text that must be there.
    pub fn required(&mut self, key: &'static str) -> Result<String, Error> {
        self.take(key).ok_or_else(|| Error::option(key, "missing"))
    }

    /// Takes a whole number within a range.
    pub fn take_u64(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, Error> {
        self.take_number(key, range, "a whole number")
    }

    /// Takes a whole number, possibly negative, within a range.
    pub fn take_i64(
        &mut self,
        key: &'static str,
        range: RangeInclusive<i64>,
    ) -> Result<Option<i64>, Error> {
        self.take_number(key, range, "a whole number")
    }

    /// Takes a number within a range.
    pub fn take_f64(
        &mut self,
        key: &'static str,
        range: RangeInclusive<f64>,
    ) -> Result<Option<f64>, Error> {
        self.take_number(key, range, "a number")
    }

    /// Takes a duration given in milliseconds, within a range in milliseconds.
    pub fn take_millis(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<Duration>, Error> {
        Ok(self.take_u64(key, range)?.map(Duration::from_millis))
    }

    /// Takes `true` or `false`.
    pub fn take_bool(&mut self, key: &'static str) -> Result<Option<bool>, Error> {
        match self.take(key).as_deref() {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(other) => Err(Error::option(
                key,
                format!("'{other}' is neither true nor false"),
            )),
        }
    }

    /// Takes every option whose key starts with `prefix`, as pairs of the rest of the key and the value.
    pub fn take_prefixed(&mut self, prefix: &str) -> Vec<(String, String)> {
        let keys: Vec<String> = self
            .pairs
            .range(prefix.to_owned()..)
            .map(|(key, _)| key.clone())
            .take_while(|key| key.starts_with(prefix))
            .collect();
        keys.into_iter()
            .filter_map(|key| {
                let value = self.pairs.remove(&key)?;
                Some((key[prefix.len()..].to_owned(), value))
            })
            .collect()
    }

    /// Refuses what no one has taken.
    pub fn finish(self) -> Result<(), Error> {
        match self.pairs.keys().next() {
            Some(key) => Err(Error::option(key, "unknown")),
            None => Ok(()),
        }
    }

    fn take_number<T: FromStr + PartialOrd + Display>(
        &mut self,
        key: &'static str,
        range: RangeInclusive<T>,
        what: &str,
    ) -> Result<Option<T>, Error> {
        let Some(text) = self.take(key) else {
            return Ok(None);
        };
        let value: T = text
            .parse()
            .map_err(|_| Error::option(key, format!("'{text}' is not {what}")))?;
        if !range.contains(&value) {
            let (low, high) = range.into_inner();
            return Err(Error::option(
                key,
                format!("{text} is not within {low} to {high}"),
            ));
        }
        Ok(Some(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)]) -> Result<Options, Error> {
        Options::from_pairs(
            pairs
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned())),
        )
    }

    #[test]
    fn values_are_read_and_what_is_left_is_unknown() {
        let mut o = options(&[
            ("a", "5"),
            ("b", "true"),
            ("l.x", "1"),
            ("l.y", "2"),
            ("z", ""),
        ])
        .unwrap();
        assert_eq!(o.take_u64("a", 1..=9).unwrap(), Some(5));
        assert_eq!(o.take_bool("b").unwrap(), Some(true));
        assert_eq!(o.take_millis("none", 0..=1).unwrap(), None);
        assert_eq!(
            o.take_prefixed("l."),
            [
                ("x".to_owned(), "1".to_owned()),
                ("y".to_owned(), "2".to_owned())
            ]
        );
        assert_eq!(o.finish().unwrap_err().to_string(), "option 'z': unknown");
    }

    #[test]
    fn unusable_values_name_their_key() {
        let text = |error: Error| error.to_string();
        assert_eq!(
            text(options(&[("a", "1"), ("a", "1")]).unwrap_err()),
            "option 'a': given twice"
        );
        let mut o = options(&[("a", "ten"), ("b", "yes"), ("c", "10"), ("d", "NaN")]).unwrap();
        assert_eq!(
            text(o.take_u64("a", 0..=9).unwrap_err()),
            "option 'a': 'ten' is not a whole number"
        );
        assert_eq!(
            text(o.take_bool("b").unwrap_err()),
            "option 'b': 'yes' is neither true nor false"
        );
        assert_eq!(
            text(o.take_u64("c", 0..=9).unwrap_err()),
            "option 'c': 10 is not within 0 to 9"
        );
        assert_eq!(
            text(o.take_f64("d", 0.0..=9.0).unwrap_err()),
            "option 'd': NaN is not within 0 to 9"
        );
        assert_eq!(text(o.required("e").unwrap_err()), "option 'e': missing");
    }
}

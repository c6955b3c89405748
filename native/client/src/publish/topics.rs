//! The numbers of topics.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::error::Error;

/// Names by number and numbers by name. A number is never used again.
#[derive(Debug, Default)]
pub(super) struct Topics {
    names: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
}

impl Topics {
    /// The number of a topic, `projects/p/topics/t`.
    pub(super) fn number(&mut self, name: &str) -> Result<u32, Error> {
        if let Some(number) = self.numbers.get(name) {
            return Ok(*number);
        }
        let mut parts = name.split('/');
        let valid = parts.next() == Some("projects")
            && parts.next().is_some_and(|project| !project.is_empty())
            && parts.next() == Some("topics")
            && parts.next().is_some_and(|topic| !topic.is_empty())
            && parts.next().is_none()
            && !name.contains(char::is_whitespace);
        if !valid {
            return Err(Error::argument(format!(
                "'{name}' is not a topic: expected projects/<project>/topics/<topic>"
            )));
        }
        let number = i32::try_from(self.names.len())
            .map_err(|_| Error::argument("too many topics"))?
            .cast_unsigned();
        let name: Arc<str> = name.into();
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        Ok(number)
    }

    /// The name behind a number that was answered.
    pub(super) fn name(&self, number: u32) -> Arc<str> {
        self.names[number as usize].clone()
    }

    /// How many there are; numbers are below.
    pub(super) fn len(&self) -> u32 {
        self.names.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_numbers() {
        let mut topics = Topics::default();
        assert_eq!(topics.number("projects/a.com:p/topics/t").unwrap(), 0);
        assert_eq!(topics.number("projects/p/topics/u").unwrap(), 1);
        assert_eq!(topics.number("projects/a.com:p/topics/t").unwrap(), 0);
        assert_eq!(&*topics.name(1), "projects/p/topics/u");
        assert_eq!(topics.len(), 2);
        for bad in [
            "",
            "t",
            "projects/p/subscriptions/s",
            "projects//topics/t",
            "projects/p/topics/",
            "projects/p/topics/t/",
            "projects/p/topics/t u",
        ] {
            let error = topics.number(bad).unwrap_err();
            assert!(
                error.is_option() && error.message().contains(bad),
                "{error}"
            );
        }
    }
}

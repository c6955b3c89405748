//! Resource names.

use super::error::{Error, Result};

/// The kinds of resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Topic,
    Subscription,
    Snapshot,
}

impl Kind {
    fn collection(self) -> &'static str {
        match self {
            Kind::Topic => "topics",
            Kind::Subscription => "subscriptions",
            Kind::Snapshot => "snapshots",
        }
    }
}

/// Checks `projects/{project}/{collection}/{id}`; `field` is what the error names.
pub(crate) fn check(field: &str, kind: Kind, name: &str) -> Result<()> {
    let problem = match split(name) {
        Some((project, collection, id)) if collection == kind.collection() => {
            check_project(project).or_else(|| check_id(id))
        }
        _ => Some("it does not have that form"),
    };
    match problem {
        None => Ok(()),
        Some(problem) => Err(Error::invalid(
            field,
            format!(
                "invalid name {name:?}, expected projects/{{project}}/{}/{{id}}: {problem}",
                kind.collection()
            ),
        )),
    }
}

/// Checks `projects/{project}` and returns the prefix of the project's resources of a kind.
pub(crate) fn listing_prefix(kind: Kind, project: &str) -> Result<String> {
    let id = project
        .strip_prefix("projects/")
        .filter(|id| check_project(id).is_none() && !id.contains('/'));
    match id {
        Some(_) => Ok(format!("{project}/{}/", kind.collection())),
        None => Err(Error::invalid(
            "project",
            format!("invalid name {project:?}, expected projects/{{project}}"),
        )),
    }
}

/// Project and id of a name that was checked before.
pub(crate) fn project_and_id(name: &str) -> (&str, &str) {
    split(name).map_or(("", name), |(project, _, id)| (project, id))
}

fn split(name: &str) -> Option<(&str, &str, &str)> {
    let mut parts = name.split('/');
    match (
        parts.next()?,
        parts.next()?,
        parts.next()?,
        parts.next()?,
        parts.next(),
    ) {
        ("projects", project, collection, id, None) => Some((project, collection, id)),
        _ => None,
    }
}

fn check_project(project: &str) -> Option<&'static str> {
    if project.is_empty() {
        return Some("the project is empty");
    }
    // Domain-scoped projects look like example.com:project.
    let legal = project
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b':' | b'_'));
    (!legal).then_some("the project has a character that is not allowed")
}

fn check_id(id: &str) -> Option<&'static str> {
    if !(3..=255).contains(&id.len()) {
        return Some("the id must have 3 to 255 characters");
    }
    if !id.as_bytes()[0].is_ascii_alphabetic() {
        return Some("the id must start with a letter");
    }
    if !id
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"-_.~+%".contains(&b))
    {
        return Some("the id may hold only letters, digits and -_.~+%");
    }
    id.get(..4)
        .is_some_and(|s| s == "goog")
        .then_some("the id must not start with goog")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_service() {
        for good in [
            "projects/p/topics/abc",
            "projects/example.com:p/topics/a-_.~+%9",
            &format!("projects/p/topics/{}", "a".repeat(255)),
        ] {
            assert_eq!(check("topic", Kind::Topic, good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "abc",
            "projects/p/topics/ab",
            "projects//topics/abc",
            "projects/p/topics/9abc",
            "projects/p/topics/goog-a",
            "projects/p/topics/a b c",
            "projects/p/topics/abc/def",
            "projects/p/subscriptions/abc",
            "projects/p/projects/p/topics/abc",
            &format!("projects/p/topics/{}", "a".repeat(256)),
        ] {
            let error = check("topic", Kind::Topic, bad).unwrap_err();
            assert_eq!(error.code, tonic::Code::InvalidArgument);
            assert!(error.message.starts_with("topic: "), "{error}");
        }
    }
}

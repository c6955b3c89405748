//! Lists in pages.

use super::error::{Error, Result};
use super::limits;

/// One page of `items`, which come in order of `name`, and the token of the next one. A token is the
/// name of the last item of its page, so that a page stays right when items come and go.
pub(crate) fn page<T>(
    items: impl Iterator<Item = T>,
    name: impl Fn(&T) -> &str,
    size: i32,
    token: &str,
) -> Result<(Vec<T>, String)> {
    let size = match usize::try_from(size) {
        Ok(0) => limits::PAGE_SIZE,
        Ok(size) => size.min(limits::PAGE_SIZE),
        Err(_) => return Err(Error::invalid("page_size", format!("{size} is negative"))),
    };
    let mut rest = items.filter(|item| name(item) > token);
    let page: Vec<T> = rest.by_ref().take(size).collect();
    let next = match (rest.next(), page.last()) {
        (Some(_), Some(last)) => name(last).to_owned(),
        _ => String::new(),
    };
    Ok((page, next))
}

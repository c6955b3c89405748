//! Texts that must not get into any other text.

use std::fmt;

use serde_json::Value;

/// Shorter ones would hide ordinary words.
const SHORTEST: usize = 8;
/// Fields of credential files that are secret, wherever they stand.
const FIELDS: [&str; 6] = [
    "private_key",
    "client_secret",
    "refresh_token",
    "access_token",
    "id_token",
    "password",
];

/// The secrets of one credential file.
#[derive(Clone, Default)]
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    /// Those of this file.
    pub(super) fn of(credentials: &Value) -> Self {
        let mut found = Vec::new();
        collect(credentials, false, &mut found);
        Self(found)
    }

    /// The text without them.
    pub(super) fn hide(&self, text: &str) -> String {
        self.0
            .iter()
            .fold(text.to_owned(), |text, secret| text.replace(secret, "…"))
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

/// Headers of an external account's source may be secret as well.
fn collect(value: &Value, secret: bool, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let inside = secret || FIELDS.contains(&name.as_str()) || name == "headers";
                collect(value, inside, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|v| collect(v, secret, found)),
        // Line by line: a text may quote a part of a key.
        Value::String(text) if secret => found.extend(
            text.lines()
                .filter(|line| line.len() >= SHORTEST && !line.starts_with("-----"))
                .map(str::to_owned),
        ),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_hidden_wherever_they_stand() {
        let secrets = Secrets::of(&json!({
            "client_id": "not-a-secret",
            "private_key": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADAN\nBgkqhkiG9w0B\n-----END PRIVATE KEY-----\n",
            "source_credentials": {"refresh_token": "1//refresh", "token_uri": "https://x.example"},
            "credential_source": {"headers": {"Authorization": "Basic abcdef"}},
        }));
        assert_eq!(
            secrets.hide(
                "not-a-secret MIIEvQIBADAN\\nBgkqhkiG9w0B 1//refresh https://x.example Basic abcdef"
            ),
            "not-a-secret …\\n… … https://x.example …"
        );
        assert_eq!(format!("{secrets:?}"), "Secrets(4)");
    }
}

//! Where to connect to, and as whom.

use std::fmt;
use std::net::Ipv6Addr;
use std::path::PathBuf;
use std::str::FromStr;

use crate::auth::{HandedTokens, TokenPatience};
use crate::error::Error;
use crate::options::Options;

/// The global endpoint of the service.
const DEFAULT_ENDPOINT: &str = "pubsub.googleapis.com:443";

/// A host and a port, as `host:port`; the host is a name, an IPv4 address or `[IPv6]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostPort {
    /// Without the brackets of an IPv6 address.
    host: String,
    port: u16,
}

impl HostPort {
    /// The host; an IPv6 address comes without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl FromStr for HostPort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fail = |why: &str| Err(format!("'{text}' is not host:port: {why}"));
        let Some((host, port)) = text.rsplit_once(':') else {
            return fail("the port is missing");
        };
        if text.contains("://") {
            return fail("leave out the scheme");
        }
        if text.contains('/') {
            return fail("leave out the path");
        }
        if port.is_empty() || port.len() > 5 || !port.bytes().all(|b| b.is_ascii_digit()) {
            return fail("the port is not a number");
        }
        let port = match port.parse::<u16>() {
            Ok(port) if port != 0 => port,
            _ => return fail("the port is not within 1 to 65535"),
        };
        let host = match host.strip_prefix('[').and_then(|h| h.strip_suffix(']')) {
            Some(address) if address.parse::<Ipv6Addr>().is_ok() => address,
            Some(_) => return fail("the address in brackets is not an IPv6 address"),
            None if host.is_empty() => return fail("the host is missing"),
            None if host.contains(':') => return fail("an IPv6 address needs brackets"),
            None if !is_host_name(host) => return fail("the host is not a name or an address"),
            None => host,
        };
        Ok(Self {
            host: host.to_owned(),
            port,
        })
    }
}

/// Letters, digits, `-`, `_` in labels of 1 to 63 characters. `_` is no host name by the letter of
/// RFC 1123, but container networks use it.
fn is_host_name(host: &str) -> bool {
    host.len() <= 253
        && host
            .strip_suffix('.')
            .unwrap_or(host)
            .split('.')
            .all(|label| {
                (1..=63).contains(&label.len())
                    && !label.starts_with('-')
                    && !label.ends_with('-')
                    && label
                        .bytes()
                        .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
            })
}

/// How to reach the service. It holds names of files, never what is in them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConnectionOptions {
    pub(crate) endpoint: HostPort,
    /// Plaintext and no credentials.
    pub(crate) emulator: bool,
    pub(crate) service_account_key_file: Option<PathBuf>,
    pub(crate) quota_project: Option<String>,
    pub(crate) ca_certificate_file: Option<PathBuf>,
    pub(crate) user_agent_suffix: Option<String>,
    pub(crate) access_tokens: Option<HandedTokens>,
    pub(crate) token_patience: TokenPatience,
}

impl ConnectionOptions {
    /// Takes the connection keys:
    ///
    /// - `emulator-endpoint`: `host:port`, plaintext, no credentials; excludes the next four
    /// - `endpoint`: `host:port`, TLS; by default the global endpoint
    /// - `service-account-key-file`: a key file; by default Application Default Credentials
    /// - `quota-project`: the project to charge; by default what the credentials say
    /// - `ca-certificate-file`: PEM; replaces the system's trust roots
    /// - `user-agent-suffix`: printable ASCII, appended to the user agent
    ///
    /// The environment variable `PUBSUB_EMULATOR_HOST` is not read.
    pub fn take(options: &mut Options) -> Result<Self, Error> {
        let emulator = options.take("emulator-endpoint");
        let endpoint = options.take("endpoint");
        let key_file = options.take("service-account-key-file");
        let quota_project = options.take("quota-project");
        let ca_file = options.take("ca-certificate-file");
        let user_agent_suffix = options.take("user-agent-suffix");
        if emulator.is_some() {
            for (key, value) in [
                ("endpoint", &endpoint),
                ("service-account-key-file", &key_file),
                ("quota-project", &quota_project),
                ("ca-certificate-file", &ca_file),
            ] {
                if value.is_some() {
                    return Err(Error::option(key, "not allowed beside 'emulator-endpoint'"));
                }
            }
        }
        let not_blank = |key: &str, value: &Option<String>| match value {
            Some(text) if text.trim().is_empty() => Err(Error::option(key, "blank")),
            _ => Ok(()),
        };
        not_blank("service-account-key-file", &key_file)?;
        not_blank("ca-certificate-file", &ca_file)?;
        if let Some(project) = &quota_project
            && (project.is_empty() || !project.bytes().all(|b| b.is_ascii_graphic()))
        {
            return Err(Error::option("quota-project", "not a project id or number"));
        }
        if let Some(suffix) = &user_agent_suffix
            && !suffix.bytes().all(|b| b == b' ' || b.is_ascii_graphic())
        {
            return Err(Error::option("user-agent-suffix", "not printable ASCII"));
        }
        let parse = |key: &str, text: &str| text.parse().map_err(|e: String| Error::option(key, e));
        Ok(Self {
            emulator: emulator.is_some(),
            endpoint: match (&emulator, &endpoint) {
                (Some(text), _) => parse("emulator-endpoint", text)?,
                (None, Some(text)) => parse("endpoint", text)?,
                (None, None) => parse("endpoint", DEFAULT_ENDPOINT)?,
            },
            service_account_key_file: key_file.map(PathBuf::from),
            quota_project,
            ca_certificate_file: ca_file.map(PathBuf::from),
            user_agent_suffix: user_agent_suffix.filter(|s| !s.trim().is_empty()),
            access_tokens: None,
            token_patience: TokenPatience::default(),
        })
    }

    /// Authenticates with tokens that are handed over, instead of a key file or Application Default
    /// Credentials. `key` is the option's name, for the error beside a key file or an emulator.
    pub fn with_access_tokens(mut self, key: &str, tokens: HandedTokens) -> Result<Self, Error> {
        let other = match &self {
            Self { emulator: true, .. } => "emulator-endpoint",
            Self {
                service_account_key_file: Some(_),
                ..
            } => "service-account-key-file",
            _ => {
                self.access_tokens = Some(tokens);
                return Ok(self);
            }
        };
        Err(Error::option(key, format!("not allowed beside '{other}'")))
    }

    /// Sets for how long calls may be told to try again while there is no token.
    pub fn with_token_patience(mut self, patience: TokenPatience) -> Self {
        self.token_patience = patience;
        self
    }

    /// A plaintext server without credentials, given as `host:port`.
    pub fn emulator(endpoint: &str) -> Result<Self, Error> {
        let pair = ("emulator-endpoint".to_owned(), endpoint.to_owned());
        Self::take(&mut Options::from_pairs([pair])?)
    }

    /// The server.
    pub fn endpoint(&self) -> &HostPort {
        &self.endpoint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(pairs: &[(&str, &str)]) -> Result<ConnectionOptions, String> {
        let pairs = pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        ConnectionOptions::take(&mut Options::from_pairs(pairs).unwrap()).map_err(|e| e.to_string())
    }

    #[test]
    fn host_and_port_are_checked() {
        for text in [
            "localhost:8085",
            "127.0.0.1:1",
            "[::1]:65535",
            "a-b.c_d.example:443",
            "a.:1",
        ] {
            assert_eq!(text.parse::<HostPort>().unwrap().to_string(), text);
        }
        for (text, why) in [
            ("localhost", "the port is missing"),
            ("", "the port is missing"),
            ("http://localhost:8085", "leave out the scheme"),
            ("localhost:8085/v1", "leave out the path"),
            ("localhost:", "the port is not a number"),
            ("localhost:+1", "the port is not a number"),
            ("localhost:80 ", "the port is not a number"),
            ("localhost:0", "the port is not within 1 to 65535"),
            ("localhost:65536", "the port is not within 1 to 65535"),
            (":8085", "the host is missing"),
            ("::1:8085", "an IPv6 address needs brackets"),
            (
                "[::g]:8085",
                "the address in brackets is not an IPv6 address",
            ),
            ("us er:8085", "the host is not a name or an address"),
            ("user@host:8085", "the host is not a name or an address"),
            ("-a:8085", "the host is not a name or an address"),
            ("a..b:8085", "the host is not a name or an address"),
        ] {
            assert_eq!(
                text.parse::<HostPort>().unwrap_err(),
                format!("'{text}' is not host:port: {why}")
            );
        }
    }

    #[test]
    fn the_emulator_excludes_what_it_cannot_honour() {
        for key in [
            "endpoint",
            "service-account-key-file",
            "quota-project",
            "ca-certificate-file",
        ] {
            assert_eq!(
                take(&[("emulator-endpoint", "localhost:1"), (key, "a:1")]).unwrap_err(),
                format!("option '{key}': not allowed beside 'emulator-endpoint'")
            );
        }
        let options = take(&[
            ("emulator-endpoint", "localhost:1"),
            ("user-agent-suffix", "x"),
        ]);
        assert!(options.unwrap().emulator);
    }

    #[test]
    fn tokens_exclude_other_identities() {
        let tokens = HandedTokens::new();
        let with = |pairs: &[_]| take(pairs).unwrap().with_access_tokens("t", tokens.clone());
        assert_eq!(with(&[]).unwrap(), with(&[]).unwrap());
        assert_ne!(with(&[]).unwrap(), take(&[]).unwrap());
        for (key, value) in [
            ("emulator-endpoint", "localhost:1"),
            ("service-account-key-file", "k"),
        ] {
            assert_eq!(
                with(&[(key, value)]).unwrap_err().to_string(),
                format!("option 't': not allowed beside '{key}'")
            );
        }
    }

    #[test]
    fn the_global_endpoint_is_the_default() {
        let options = take(&[]).unwrap();
        assert_eq!(options.endpoint.to_string(), DEFAULT_ENDPOINT);
        assert!(!options.emulator);
    }

    #[test]
    fn unusable_texts_are_refused_by_name() {
        for (key, value, error) in [
            ("service-account-key-file", " ", "blank"),
            ("ca-certificate-file", "", "blank"),
            ("quota-project", "a b", "not a project id or number"),
            ("user-agent-suffix", "a\nb", "not printable ASCII"),
        ] {
            assert_eq!(
                take(&[(key, value)]).unwrap_err(),
                format!("option '{key}': {error}")
            );
        }
    }
}

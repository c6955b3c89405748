//! Subscription filters: the whole documented grammar over attributes.
//!
//! ```text
//! filter  := all | any | factor
//! all     := factor ("AND" factor)+
//! any     := factor ("OR" factor)+
//! factor  := ("NOT" | "-")? (test | "(" filter ")")
//! test    := "attributes" ":" key
//!          | "attributes" "." key ("=" | "!=") string
//!          | "hasPrefix" "(" "attributes" "." key "," string ")"
//! ```
//! AND and OR cannot be mixed without parentheses.

use std::collections::HashMap;

/// A filter that was parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// The attribute exists.
    Has(String),
    /// The attribute exists and has this value.
    Equals(String, String),
    /// The attribute does not exist or has another value.
    NotEquals(String, String),
    /// The attribute exists and starts with this.
    HasPrefix(String, String),
    /// The inner filter does not match.
    Not(Box<Filter>),
    /// All match.
    All(Vec<Filter>),
    /// At least one matches.
    Any(Vec<Filter>),
}

/// Deepest nesting; the 256 bytes a filter may have allow for little more.
const MAX_DEPTH: usize = 128;

impl Filter {
    /// Parses a filter; the error says where and why it fails.
    pub fn parse(text: &str) -> Result<Filter, String> {
        let tokens = tokenize(text)?;
        let mut parser = Parser {
            tokens,
            at: 0,
            text_len: text.len(),
        };
        let filter = parser.filter(0)?;
        match parser.peek() {
            None => Ok(filter),
            Some(token) => {
                Err(parser.unexpected(&format!("{token:?} after the end of the filter")))
            }
        }
    }

    /// Whether a message with these attributes passes.
    pub fn matches(&self, attributes: &HashMap<String, String>) -> bool {
        match self {
            Filter::Has(key) => attributes.contains_key(key),
            Filter::Equals(key, value) => attributes.get(key) == Some(value),
            Filter::NotEquals(key, value) => attributes.get(key) != Some(value),
            Filter::HasPrefix(key, prefix) => attributes
                .get(key)
                .is_some_and(|v| v.starts_with(prefix.as_str())),
            Filter::Not(inner) => !inner.matches(attributes),
            Filter::All(inner) => inner.iter().all(|f| f.matches(attributes)),
            Filter::Any(inner) => inner.iter().any(|f| f.matches(attributes)),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Text(String),
    Symbol(&'static str),
}

fn tokenize(text: &str) -> Result<Vec<(usize, Token)>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.char_indices().peekable();
    while let Some(&(at, c)) = rest.peek() {
        rest.next();
        let token = match c {
            c if c.is_whitespace() => continue,
            '(' => Token::Symbol("("),
            ')' => Token::Symbol(")"),
            ':' => Token::Symbol(":"),
            '.' => Token::Symbol("."),
            ',' => Token::Symbol(","),
            '-' => Token::Symbol("-"),
            '=' => Token::Symbol("="),
            '!' => match rest.next() {
                Some((_, '=')) => Token::Symbol("!="),
                _ => return Err(format!("at byte {at}: expected != after !")),
            },
            '"' => {
                let mut value = String::new();
                loop {
                    match rest.next() {
                        Some((_, '"')) => break,
                        Some((_, '\\')) => match rest.next() {
                            Some((_, c @ ('"' | '\\'))) => value.push(c),
                            Some((_, 'n')) => value.push('\n'),
                            Some((_, 't')) => value.push('\t'),
                            Some((_, 'r')) => value.push('\r'),
                            Some((_, 'u')) => {
                                let hex: String = rest.by_ref().take(4).map(|(_, c)| c).collect();
                                let c = u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32);
                                value.push(c.ok_or_else(|| {
                                    format!("at byte {at}: invalid escape \\u{hex}")
                                })?);
                            }
                            _ => return Err(format!("at byte {at}: invalid escape in a string")),
                        },
                        Some((_, c)) => value.push(c),
                        None => return Err(format!("at byte {at}: the string does not end")),
                    }
                }
                Token::Text(value)
            }
            c if is_word(c) => {
                let mut word = String::from(c);
                // A dash inside a word belongs to it: it can only start a factor.
                while let Some(&(_, c)) = rest.peek().filter(|(_, c)| is_word(*c) || *c == '-') {
                    word.push(c);
                    rest.next();
                }
                Token::Word(word)
            }
            c => return Err(format!("at byte {at}: unexpected character {c:?}")),
        };
        tokens.push((at, token));
    }
    Ok(tokens)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

struct Parser {
    tokens: Vec<(usize, Token)>,
    at: usize,
    text_len: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(_, token)| token)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.peek().cloned();
        self.at += 1;
        token
    }

    fn unexpected(&self, what: &str) -> String {
        let at = self
            .tokens
            .get(self.at)
            .map_or(self.text_len, |(at, _)| *at);
        format!("at byte {at}: {what}")
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Word(w)) if w == word)
    }

    fn eat(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Symbol(s)) if *s == symbol);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<(), String> {
        if self.eat(symbol) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("expected {symbol}")))
        }
    }

    fn filter(&mut self, depth: usize) -> Result<Filter, String> {
        let first = self.factor(depth)?;
        let operator = match self.peek() {
            Some(Token::Word(w)) if w == "AND" || w == "OR" => w.clone(),
            _ => return Ok(first),
        };
        let mut factors = vec![first];
        while self.is_word(&operator) {
            self.at += 1;
            factors.push(self.factor(depth)?);
        }
        if self.is_word("AND") || self.is_word("OR") {
            return Err(self.unexpected("AND and OR need parentheses when they are mixed"));
        }
        Ok(if operator == "AND" {
            Filter::All(factors)
        } else {
            Filter::Any(factors)
        })
    }

    fn factor(&mut self, depth: usize) -> Result<Filter, String> {
        if depth > MAX_DEPTH {
            return Err(self.unexpected("nested too deeply"));
        }
        if self.is_word("NOT") {
            self.at += 1;
            return Ok(Filter::Not(Box::new(self.factor(depth + 1)?)));
        }
        if self.eat("-") {
            return Ok(Filter::Not(Box::new(self.factor(depth + 1)?)));
        }
        if self.eat("(") {
            let inner = self.filter(depth + 1)?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.is_word("hasPrefix") {
            self.at += 1;
            self.expect("(")?;
            self.attributes()?;
            self.expect(".")?;
            let key = self.key()?;
            self.expect(",")?;
            let prefix = self.text()?;
            self.expect(")")?;
            return Ok(Filter::HasPrefix(key, prefix));
        }
        self.attributes()?;
        if self.eat(":") {
            return Ok(Filter::Has(self.key()?));
        }
        self.expect(".")?;
        let key = self.key()?;
        if self.eat("=") {
            Ok(Filter::Equals(key, self.text()?))
        } else if self.eat("!=") {
            Ok(Filter::NotEquals(key, self.text()?))
        } else {
            Err(self.unexpected("expected = or !="))
        }
    }

    fn attributes(&mut self) -> Result<(), String> {
        if self.is_word("attributes") {
            self.at += 1;
            Ok(())
        } else {
            Err(self.unexpected("expected attributes, hasPrefix, NOT or ("))
        }
    }

    fn key(&mut self) -> Result<String, String> {
        match self.next() {
            Some(Token::Word(key) | Token::Text(key)) if !key.is_empty() => Ok(key),
            _ => {
                self.at -= 1;
                Err(self.unexpected("expected the key of an attribute"))
            }
        }
    }

    fn text(&mut self) -> Result<String, String> {
        match self.next() {
            Some(Token::Text(text)) => Ok(text),
            _ => {
                self.at -= 1;
                Err(self.unexpected("expected a string in double quotes"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(filter: &str, attributes: &[(&str, &str)]) -> bool {
        let attributes = attributes
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        Filter::parse(filter)
            .unwrap_or_else(|e| panic!("{filter}: {e}"))
            .matches(&attributes)
    }

    #[test]
    fn every_form_matches_what_it_says() {
        let com = [("name", "com"), ("lang", "en-US")];
        assert!(matches("attributes:name", &com));
        assert!(!matches("attributes:other", &com));
        assert!(matches("attributes.name = \"com\"", &com));
        assert!(!matches("attributes.name=\"org\"", &com));
        assert!(matches("attributes.name != \"org\"", &com));
        assert!(matches("attributes.other != \"org\"", &com));
        assert!(matches("hasPrefix(attributes.lang, \"en\")", &com));
        assert!(!matches("hasPrefix(attributes.lang, \"us\")", &com));
        assert!(!matches("hasPrefix(attributes.other, \"\")", &com));
        assert!(matches("NOT attributes:other", &com));
        assert!(matches("-attributes:other", &com));
        assert!(!matches("NOT (attributes:name AND attributes:lang)", &com));
        assert!(matches("attributes:name AND NOT attributes:other", &com));
        assert!(matches(
            "attributes:x OR attributes:y OR attributes:lang",
            &com
        ));
        assert!(matches(
            "(attributes:x OR attributes:name) AND attributes:lang",
            &com
        ));
        assert!(matches(
            "attributes.\"iana.org/lang\" = \"a\\\"b\\\\\"",
            &[("iana.org/lang", "a\"b\\")]
        ));
        assert!(matches("attributes:\"k\\u00e9\"", &[("ké", "")]));
    }

    #[test]
    fn mistakes_are_refused_with_their_place() {
        for (filter, place) in [
            ("", "at byte 0"),
            ("attributes", "at byte 10"),
            ("attributes:", "at byte 11"),
            ("attributes.a", "at byte 12"),
            ("attributes.a = b", "at byte 15"),
            ("attributes.a == \"b\"", "at byte 14"),
            ("attributes:a AND", "at byte 16"),
            ("attributes:a and attributes:b", "at byte 13"),
            (
                "attributes:a AND attributes:b OR attributes:c",
                "at byte 30",
            ),
            ("(attributes:a", "at byte 13"),
            ("data = \"x\"", "at byte 0"),
            ("attributes.a = \"b", "at byte 15"),
            ("attributes.a > \"b\"", "at byte 13"),
            ("hasPrefix(attributes:a, \"b\")", "at byte 20"),
        ] {
            let error = Filter::parse(filter).unwrap_err();
            assert!(error.starts_with(place), "{filter}: {error}");
        }
        assert!(Filter::parse(&"(".repeat(100_000)).is_err());
        assert!(Filter::parse(&"NOT ".repeat(100_000)).is_err());
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in ".{0,256}", near in "[-a(): .=!\"\\\\ANDORTu0hsPrefixtbe]{0,100}") {
            let _ = Filter::parse(&text);
            let _ = Filter::parse(&near);
        }
    }
}

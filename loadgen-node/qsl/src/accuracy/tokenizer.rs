//! From token ids to text, as a `tokenizer.json` of Hugging Face's package `tokenizers` says.
//!
//! Answers are only decoded here. That takes the vocabulary and the decoder of the file, and none of what the package
//! needs to make tokens of texts. So it is done without the package, which would bring some fifty others.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde::Deserialize;

/// A vocabulary, and how the texts of tokens become one text.
#[derive(Debug)]
pub struct Tokenizer {
    tokens: HashMap<u32, String>,
    /// Tokens that are no part of a text: the end of an answer, padding.
    special: HashSet<u32>,
    decoder: Option<Decoder>,
}

/// The keys of the file that are read here. The file has more.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
    decoder: Option<Decoder>,
    model: Model,
}

#[derive(Deserialize)]
struct AddedToken {
    id: u32,
    content: String,
    special: bool,
}

#[derive(Deserialize)]
struct Model {
    vocab: Vocabulary,
}

/// The tokens of a model.
#[derive(Deserialize)]
#[serde(untagged)]
enum Vocabulary {
    /// BPE, WordPiece, WordLevel: the id of each token.
    Ids(HashMap<String, u32>),
    /// Unigram: the tokens in the order of their ids, and a score of each.
    InOrder(Vec<(String, f64)>),
}

/// A step from tokens to text.
#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
enum Decoder {
    /// Each character stands for a byte.
    ByteLevel {},
    /// Tokens such as `<0x0A>` stand for a byte.
    ByteFallback {},
    /// All tokens become one.
    Fuse {},
    Metaspace {
        replacement: char,
        #[serde(default)]
        prepend_scheme: Option<String>,
        #[serde(default)]
        add_prefix_space: Option<bool>,
    },
    Replace {
        pattern: Pattern,
        content: String,
    },
    Sequence {
        decoders: Vec<Decoder>,
    },
    Strip {
        content: char,
        start: usize,
        stop: usize,
    },
    WordPiece {
        prefix: String,
        cleanup: bool,
    },
}

/// The text that a decoder replaces. Only fixed texts are known; other patterns are not.
#[derive(Debug, Deserialize)]
enum Pattern {
    String(String),
}

impl Tokenizer {
    /// Reads the text of a `tokenizer.json`.
    ///
    /// # Errors
    /// It is no such file, or its decoder is not known here. The error is a clause that says why.
    pub fn from_json(text: &[u8]) -> Result<Tokenizer, String> {
        let file: File = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let mut tokens: HashMap<u32, String> = match file.model.vocab {
            Vocabulary::Ids(ids) => ids.into_iter().map(|(token, id)| (id, token)).collect(),
            Vocabulary::InOrder(tokens) => (0..).zip(tokens.into_iter().map(|(token, _)| token)).collect(),
        };
        let special = file.added_tokens.iter().filter(|token| token.special).map(|token| token.id).collect();
        tokens.extend(file.added_tokens.into_iter().map(|token| (token.id, token.content)));
        Ok(Tokenizer { tokens, special, decoder: file.decoder })
    }

    /// Returns the text of tokens. Special tokens are left out, and so are ids that the vocabulary does not have.
    pub fn decode(&self, ids: impl Iterator<Item = i64>) -> String {
        let ids = ids.filter_map(|id| u32::try_from(id).ok()).filter(|id| !self.special.contains(id));
        let tokens: Vec<Cow<'_, str>> = ids.filter_map(|id| Some(self.tokens.get(&id)?.as_str().into())).collect();
        match &self.decoder {
            Some(decoder) => decoder.decode(tokens).concat(),
            None => tokens.join(" "),
        }
    }
}

impl Decoder {
    fn decode<'t>(&self, tokens: Vec<Cow<'t, str>>) -> Vec<Cow<'t, str>> {
        let each = |change: &dyn Fn(usize, &str) -> String| -> Vec<Cow<'t, str>> {
            tokens.iter().enumerate().map(|(place, token)| change(place, token).into()).collect()
        };
        match self {
            Decoder::ByteLevel {} => {
                let bytes: Vec<u8> = tokens.iter().flat_map(|token| bytes(token)).collect();
                vec![String::from_utf8_lossy(&bytes).into_owned().into()]
            }
            Decoder::ByteFallback {} => with_bytes(tokens),
            Decoder::Fuse {} => vec![tokens.concat().into()],
            Decoder::Metaspace { replacement, prepend_scheme, add_prefix_space } => {
                let has_first = prepend_scheme.as_deref() != Some("never") && *add_prefix_space != Some(false);
                each(&|place, token| match place == 0 && has_first {
                    true => token.replace(*replacement, ""),
                    false => token.replace(*replacement, " "),
                })
            }
            Decoder::Replace { pattern: Pattern::String(pattern), content } => {
                each(&|_, token| token.replace(pattern, content))
            }
            Decoder::Sequence { decoders } => decoders.iter().fold(tokens, |tokens, decoder| decoder.decode(tokens)),
            Decoder::Strip { content, start, stop } => each(&|_, token| stripped(token, *content, *start, *stop)),
            Decoder::WordPiece { prefix, cleanup } => each(&|place, token| {
                let piece = match token.strip_prefix(prefix.as_str()) {
                    _ if place == 0 => token.to_owned(),
                    Some(tail) => tail.to_owned(),
                    None => format!(" {token}"),
                };
                if *cleanup { cleaned(&piece) } else { piece }
            }),
        }
    }
}

/// Returns the bytes for which the characters of a token stand; its own bytes when one of them stands for none.
fn bytes(token: &str) -> Vec<u8> {
    token.chars().map(byte).collect::<Option<_>>().unwrap_or_else(|| token.as_bytes().to_vec())
}

/// Returns the byte for which a character stands. Visible characters of Latin-1 stand for themselves. The other bytes
/// have the characters from U+0100 on, in order.
fn byte(c: char) -> Option<u8> {
    let is_visible = |byte: &u8| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    match u32::from(c) {
        code @ 0..=0xff => u8::try_from(code).ok().filter(is_visible),
        code => (0..=u8::MAX).filter(|byte| !is_visible(byte)).nth(code as usize - 0x100),
    }
}

/// Replaces runs of tokens such as `<0x0A>` by the text of their bytes, or by `U+FFFD` for each of them.
fn with_bytes(tokens: Vec<Cow<'_, str>>) -> Vec<Cow<'_, str>> {
    let byte = |token: &str| {
        let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
        if digits.len() == 2 { u8::from_str_radix(digits, 16).ok() } else { None }
    };
    let (mut texts, mut run) = (Vec::with_capacity(tokens.len()), Vec::new());
    let close = |run: &mut Vec<u8>, texts: &mut Vec<Cow<'_, str>>| {
        let len = run.len();
        let text = String::from_utf8(std::mem::take(run));
        texts.push(text.unwrap_or_else(|_| "\u{fffd}".repeat(len)).into());
    };
    for token in tokens {
        match byte(&token) {
            Some(byte) => run.push(byte),
            None => {
                close(&mut run, &mut texts);
                texts.push(token);
            }
        }
    }
    close(&mut run, &mut texts);
    texts.retain(|text| !text.is_empty());
    texts
}

/// Takes a character away from both ends, as often as it is there, but no more than so many times.
fn stripped(token: &str, content: char, start: usize, stop: usize) -> String {
    let mut tail = token;
    for _ in 0..start {
        tail = tail.strip_prefix(content).unwrap_or(tail);
    }
    for _ in 0..stop {
        tail = tail.strip_suffix(content).unwrap_or(tail);
    }
    tail.to_owned()
}

/// Takes away blanks before punctuation and within shortened words.
fn cleaned(text: &str) -> String {
    const PAIRS: [(&str, &str); 11] = [
        (" .", "."),
        (" ?", "?"),
        (" !", "!"),
        (" ,", ","),
        (" ' ", "'"),
        (" n't", "n't"),
        (" 'm", "'m"),
        (" do not", " don't"),
        (" 's", "'s"),
        (" 've", "'ve"),
        (" 're", "'re"),
    ];
    PAIRS.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokenizer(vocab: &str, decoder: &str) -> Tokenizer {
        let added = r#"[{"id": 9, "content": "</s>", "special": true}, {"id": 8, "content": "<n>", "special": false}]"#;
        let text = format!(
            r#"{{"version": "1.0", "added_tokens": {added}, "decoder": {decoder}, "model": {{"vocab": {vocab}}}}}"#
        );
        Tokenizer::from_json(text.as_bytes()).unwrap()
    }

    #[test]
    fn bytes_as_characters() {
        let bytes = tokenizer(r#"{"ĠHi": 0, "Ã": 1, "©": 2, "Ċ": 3}"#, r#"{"type": "ByteLevel", "x": 1}"#);
        assert_eq!(bytes.decode([0, 1, 2, 3, 9, 8, 77, -1].into_iter()), " Hié\n<n>");
        assert_eq!(bytes.decode([1].into_iter()), "\u{fffd}");
        assert_eq!(bytes.decode(std::iter::empty()), "");
    }

    #[test]
    fn pieces_with_bytes_between() {
        let steps = r#"{"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
            {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}"#;
        let pieces = tokenizer(r#"[["▁one", -1.0], ["<0xC3>", 0], ["<0xA9>", 0], ["▁", -2]]"#, steps);
        assert_eq!(pieces.decode([0, 1, 2, 3, 0].into_iter()), "oneé  one");
        assert_eq!(pieces.decode([3, 3, 0, 1, 0].into_iter()), "  one\u{fffd} one");
    }

    #[test]
    fn other_decoders() {
        let space = r#"{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}"#;
        let tokens = [0, 1, 0];
        assert_eq!(tokenizer(r#"{"▁a": 0, "b": 1}"#, space).decode(tokens.into_iter()), "ab a");
        let pieces = r###"{"type": "WordPiece", "prefix": "##", "cleanup": true}"###;
        assert_eq!(tokenizer(r###"{"a": 0, "##b": 1}"###, pieces).decode(tokens.into_iter()), "ab a");
        assert_eq!(tokenizer(r#"{"a": 0, "b": 1}"#, "null").decode(tokens.into_iter()), "a b a");
        let fault = Tokenizer::from_json(br#"{"decoder": {"type": "CTC"}, "model": {"vocab": {}}}"#).unwrap_err();
        assert!(fault.contains("CTC"), "{fault}");
    }
}

use super::*;

fn vocabulary(more: &[&str]) -> WordPiece {
    WordPiece::new(&[&WHOLE, more].concat().join("\n")).unwrap()
}

/// The pieces of a text, with a blank between them.
fn split(vocabulary: &WordPiece, text: &str) -> String {
    let ids = vocabulary.encode(text);
    ids.iter().map(|id| vocabulary.piece(*id)).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_longest_piece_comes_first() {
    let some = vocabulary(&["un", "##aff", "##able", "##a", "a", "##f", "unable"]);
    for (text, pieces) in [
        ("unaffable", "un ##aff ##able"),
        ("unable Un", "unable un"),
        ("unafx a", "[UNK] a"),
        ("unaf", "un ##a ##f"),
        ("able", "[UNK]"),
        ("", ""),
        (" \t\u{a0}\r\n", ""),
    ] {
        assert_eq!(split(&some, text), pieces, "{text}");
    }
    assert_eq!(some.encode("un a"), [5, 9]);
}

#[test]
fn accents_controls_and_kinds_of_blanks_do_not_count() {
    let some = vocabulary(&["zurich", "cafe", "naive", "ὀ", "οδοσ", "i", "istanbul"]);
    for (text, pieces) in [
        ("Zürich Zu\u{308}rich ZÜRICH", "zurich zurich zurich"),
        ("café\u{2003}naïve\u{202f}CAFÉ\u{2028}naive\u{3000}", "cafe naive cafe naive"),
        ("ca\u{200b}f\u{0}\u{ad}e\u{fffd}\u{7f}", "cafe"),
        // A capital sigma at the end of a word becomes the small one of its middle; a dotted I loses its dot.
        ("ΟΔΟΣ", "οδοσ"),
        ("İstanbul", "istanbul"),
    ] {
        assert_eq!(split(&some, text), pieces, "{text}");
    }
}

#[test]
fn punctuation_and_chinese_characters_stand_alone() {
    let some = vocabulary(&["don", "'", "t", "$", "5", "-", "–", "。", "中", "国", "=", "한", "ひ", "##ら", ";"]);
    for (text, pieces) in [
        ("don't-$5", "don ' t - $ 5"),
        ("5–5。", "5 – 5 。"),
        ("中国t", "中 国 t"),
        // Kana are letters of a word.
        ("ひら", "ひ ##ら"),
        // Not equal is an equals sign with an accent, and the Greek question mark is a semicolon.
        ("5≠t\u{37e}", "5 = t ;"),
        ("^", "[UNK]"),
    ] {
        assert_eq!(split(&some, text), pieces, "{text}");
    }
}

#[test]
fn a_word_of_more_than_a_hundred_characters_is_not_known() {
    let some = vocabulary(&["ä", "a", "##a"]);
    assert_eq!(some.encode(&"ä".repeat(100)).len(), 100);
    assert_eq!(split(&some, &format!("{} a", "ä".repeat(101))), "[UNK] a");
    // The limit counts characters without accents.
    assert_eq!(some.encode(&"a\u{308}".repeat(100)).len(), 100);
}

#[test]
fn what_is_a_piece_of_its_own_is_kept_whole() {
    let some = vocabulary(&["a", "[", "]", "sep", "mask"]);
    assert_eq!(split(&some, "a[SEP]A[MASK][CLS]"), "a [SEP] a [MASK] [CLS]");
    assert_eq!(split(&some, "[sep] [ MASK]"), "[ sep ] [ mask ]");
    assert_eq!((some.first, some.separator), (3, 1));
}

#[test]
fn lines_of_a_vocabulary_are_counted_as_they_stand() {
    let text = "[PAD]\r\n\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n[MASK]\r\na\r\nb\r\na\r\n";
    let some = WordPiece::new(text).unwrap();
    assert_eq!(some.encode("a b"), [8, 7]);
    for missing in WHOLE {
        let message = WordPiece::new(&text.replace(missing, "x")).unwrap_err().to_string();
        assert!(message.contains(missing) && message.contains("vocabulary"), "{message}");
    }
    assert!(WordPiece::new("").is_err());
}

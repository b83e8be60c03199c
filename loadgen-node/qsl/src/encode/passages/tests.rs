use super::*;

/// Marks, then these pieces, in one line.
fn vocabulary(pieces: &str) -> WordPiece {
    let lines: Vec<&str> = "[PAD] [UNK] [CLS] [SEP] [MASK]".split(' ').chain(pieces.split_whitespace()).collect();
    WordPiece::new(&lines.join("\n")).unwrap()
}

/// Letters of the alphabet as pieces: `a` is 5.
fn letters(shape: Shape, passage: &str, question: &str) -> Reading {
    let mut reading = Reading::new(vocabulary("a b c d e f g h i j"), shape);
    reading.add_passage(passage);
    reading.add_question(question, vec!["a".to_owned()]);
    reading
}

fn spans(reading: &Reading) -> Vec<(u32, u32)> {
    reading.windows.iter().map(|window| (window.start, window.end())).collect()
}

/// The window in which each piece of the passage counts.
fn counted_in(reading: &Reading) -> Vec<usize> {
    let windows = |piece: u32| (0..reading.samples()).filter(move |window| reading.shows_most_around(*window, piece));
    (0..reading.passages[0].pieces.len() as u32)
        .map(|piece| {
            let all: Vec<usize> = windows(piece).collect();
            assert_eq!(all.len(), 1, "piece {piece}");
            all[0]
        })
        .collect()
}

#[test]
fn a_long_passage_takes_windows_that_overlap() {
    // 10 less 2 of the question and 3 marks leave 5.
    let reading = letters(Shape { window: 10, question: 3, stride: 3 }, "a b c d e f g h", "i j");
    assert_eq!(spans(&reading), [(0, 5), (3, 8)]);
    let Feature { ids, types } = reading.feature(1);
    assert_eq!(ids, [2, 13, 14, 3, 8, 9, 10, 11, 12, 3]);
    assert_eq!(types, [0, 0, 0, 0, 1, 1, 1, 1, 1, 1]);
    // d: 1 to its right in the first, 0 to its left in the second. e: 0 in the first, 1 in the second.
    assert_eq!(counted_in(&reading), [0, 0, 0, 0, 1, 1, 1, 1]);
    let at: Vec<Option<u32>> = (0..11).map(|place| reading.piece_at(1, place)).collect();
    assert_eq!(at, [None, None, None, None, Some(3), Some(4), Some(5), Some(6), Some(7), None, None]);
}

#[test]
fn of_windows_that_show_the_same_the_first_counts_unless_one_is_longer() {
    let reading = letters(Shape { window: 10, question: 3, stride: 2 }, "a b c d e f g h", "i j");
    assert_eq!(spans(&reading), [(0, 5), (2, 7), (4, 8)]);
    // d: 1 in the first and in the second. f: 1 in the second, of 5, and 1 in the third, of 4. g: 0 and 1.
    assert_eq!(counted_in(&reading), [0, 0, 0, 0, 1, 1, 2, 2]);
    // Of piece 254 the first shows 125 and the second 126, but that is shorter by 108: 128.80 against 128.72.
    let reading = letters(Shape::REFERENCE, &"a ".repeat(400), "i");
    assert_eq!(spans(&reading), [(0, 380), (128, 400)]);
    assert_eq!(counted_in(&reading)[253..257], [0, 0, 1, 1]);
}

#[test]
fn a_long_question_is_cut_and_a_passage_that_fits_takes_one_window() {
    let reading = letters(Shape { window: 10, question: 3, stride: 2 }, " a\u{202f}b\t\r\nc  ", "a b c d e");
    assert_eq!(reading.feature(0).ids, [2, 5, 6, 7, 3, 5, 6, 7, 3]);
    assert_eq!((reading.samples(), reading.passages[0].text.as_str()), (1, "a b c"));
    // Blanks of other kinds part pieces, but no words.
    let reading = letters(Shape::REFERENCE, "a\u{a0}b c", "d");
    let question = &reading.questions()[0];
    assert_eq!(reading.stretch(question, 1..=1), (&[6][..], "a\u{a0}b"));
    assert_eq!(reading.stretch(question, 1..=2), (&[6, 7][..], "a\u{a0}b c"));
    assert_eq!(reading.stretch(question, 2..=2).1, "c");
}

#[test]
fn a_passage_without_words_has_no_windows() {
    let mut reading = letters(Shape::REFERENCE, " \u{200b} ", "a");
    assert_eq!((reading.samples(), reading.questions()[0].windows.clone()), (0, 0..0));
    reading.add_passage("b");
    reading.add_question("", Vec::new());
    assert_eq!((reading.questions()[1].windows.clone(), reading.feature(0).ids), (0..1, vec![2, 3, 6, 3]));
}

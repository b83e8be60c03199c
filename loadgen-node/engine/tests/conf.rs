//! Official config files give the settings that the official LoadGen reads from them.
#![allow(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

use loadgen::vectors::VectorError;
use loadgen::vectors::config_cases;
use serde_json::Value;

const VECTORS: &str = include_str!("data/golden/config.json");

/// The document, as it is printed.
fn config_json(input: &str) -> Result<Value, VectorError> {
    config_cases(input).map(|cases| serde_json::to_value(cases).unwrap())
}

#[test]
fn every_captured_case_is_reproduced() {
    let input: Value = serde_json::from_str(VECTORS).unwrap();
    let cases = input["cases"].as_array().unwrap();
    let results = config_json(VECTORS).unwrap();
    let results = results.as_array().unwrap();
    assert_eq!((cases.len(), results.len()), (13, 13));
    for (case, result) in cases.iter().zip(results) {
        assert_eq!(result["name"], case["name"]);
        assert_eq!(result["return"], case["expected"]["return"], "{}", case["name"]);
        assert_eq!(sorted(&result["changed"]), sorted(&case["expected"]["changed"]), "{}", case["name"]);
    }
}

/// Fields by name; numbers as printed, so that 1 and 1.0 differ.
fn sorted(fields: &Value) -> Vec<(String, String)> {
    let mut fields: Vec<_> = fields.as_object().unwrap().iter().map(|(k, v)| (k.clone(), v.to_string())).collect();
    fields.sort();
    fields
}

#[test]
fn a_faulty_user_file_leaves_what_is_built_in() {
    let case = |text: &str, kind: u8| {
        let case = serde_json::json!([{
            "name": "x", "conf_text": text, "model": "bert", "scenario": "Server", "conf_type": kind }]);
        config_json(&case.to_string()).unwrap()[0].clone()
    };
    let faulty = case("*.Server.target_qps = 5\n*.Server.target_qps = x\n", 1);
    assert_eq!(faulty["return"], -22);
    assert_eq!(faulty["changed"], case("", 1)["changed"], "nothing of the file is applied");
    assert_eq!(faulty["changed"]["server_target_latency_ns"], 130_000_000);
}

#[test]
fn other_forms_are_refused() {
    for (text, part) in [
        ("[{", "EOF"),
        (r#"{"cases":[],"more":1}"#, "more"),
        (r#"[{"name":"x","conf_text":"","model":"*","scenario":"Server","conf_type":3}]"#, "conf_type 3"),
        (r#"[{"name":"x","model":"*","scenario":"Server"}]"#, "conf_type"),
    ] {
        let error = config_json(text).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

/// Lines of random parts against a reader written the naive way: what is accepted, and with which value.
#[test]
fn random_files_are_read_like_a_naive_reader_reads_them() {
    let mut random = Random::new();
    let (mut accepted, mut rejected) = (0, 0);
    for _ in 0..4_000 {
        let text: String = (0..1 + random.below(6)).map(|_| random.line() + "\n").collect();
        let case = serde_json::json!([{
            "name": "x", "conf_text": text, "model": "bert", "scenario": "Offline", "conf_type": 2 }]);
        let result = config_json(&case.to_string()).unwrap();
        let expected = naive(&text);
        let code = if expected.is_some() { 0 } else { -22 };
        assert_eq!(result[0]["return"], code, "{text:?}");
        let count = expected.flatten().unwrap_or(100);
        assert_eq!(result[0]["changed"]["min_query_count"].as_u64().unwrap_or(100), count, "{text:?}");
        *(if code == 0 { &mut accepted } else { &mut rejected }) += 1;
    }
    assert!(accepted > 500 && rejected > 500, "{accepted} {rejected}");
}

/// Words of which lines are made. Values come with what they are worth as whole numbers.
const KEYS: [&str; 6] = [
    "*.*.min_query_count",
    "bert.*.min_query_count",
    "*.Offline.min_query_count",
    "bert.Offline.min_query_count",
    "*.Server.min_query_count",
    "#*.*.min_query_count",
];
const VALUES: [(&str, u64); 10] = [
    ("17", 17),
    ("0x1F", 31),
    ("021", 17),
    ("3.9", 3),
    ("2e5", 2),
    ("-2", u64::MAX - 1),
    ("+44", 44),
    ("inf", 0),
    ("99999999999999999999", u64::MAX),
    ("0x1p4", 1),
];
const OTHERS: [&str; 6] = ["=", "#", "#x", "five", "1x", "*.*.min_query_count=3"];
const BLANKS: [&str; 5] = [" ", "\t", "  ", "\r ", "\x0b"];

struct Random(rand_mt::Mt);

impl Random {
    fn new() -> Random {
        Random(rand_mt::Mt::new(20_261_121))
    }

    fn below(&mut self, n: usize) -> usize {
        self.0.next_u32() as usize % n
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// Mostly a good line, with a word changed, added or left out now and then.
    fn line(&mut self) -> String {
        let mut words = vec![self.pick(&KEYS), "=", self.pick(&VALUES).0];
        match self.below(12) {
            0 => words.push(self.pick(&OTHERS)),
            1 => words.push(self.pick(&VALUES).0),
            2 => words.truncate(self.below(3)),
            3 => {
                let at = self.below(3);
                words[at] = self.pick(&OTHERS);
            }
            4 => words.insert(0, "#"),
            _ => {}
        }
        let mut line = String::new();
        for word in words {
            line += self.pick(&BLANKS);
            line += word;
        }
        line
    }
}

/// `None`: rejected. Otherwise the query count for bert in Offline, if it is set.
fn naive(text: &str) -> Option<Option<u64>> {
    let mut counts = vec![None; 4];
    for line in text.lines() {
        let words: Vec<&str> = line.split(['\t', ' ', '\r', '\x0b']).filter(|word| !word.is_empty()).collect();
        let hash = words.iter().take(2).position(|word| *word == "#");
        let (key, equals) = match (hash, words.as_slice()) {
            (Some(_), _) | (_, [] | [_]) => continue,
            (None, [key, equals, ..]) => (*key, *equals),
        };
        if equals != "=" {
            return None;
        }
        for value in &words[2..] {
            let worth = VALUES.iter().find(|(text, _)| text == value)?.1;
            if let Some(rank) = [KEYS[3], KEYS[2], KEYS[1], KEYS[0]].iter().position(|other| *other == key) {
                counts[rank] = Some(worth);
            }
        }
    }
    Some(counts.into_iter().flatten().next())
}

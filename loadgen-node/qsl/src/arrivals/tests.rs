//! Traces of each format, as they are published, and files that are refused.

use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};

use super::*;

const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

const AZURE: &str = "\
TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,374,44
2023-11-16 18:15:50.9951690,396,109
2023-11-16 18:15:50.9951691,879,55
2023-11-16 18:16:00.0000000,91,16
";

const AZURE_2024: &str = "\
TIMESTAMP,ContextTokens,GeneratedTokens
2024-05-10 00:00:00.009930+00:00,2162,5
2024-05-10T00:00:00.017335Z,2399,6
2024-05-10 00:00:01+00:00,76,15
";

const AZURE_LMM: &str = "\
TIMESTAMP,NumImages,ContextTokens,GeneratedTokens
2024-10-15 00:00:00.1000000,0,100,10
2024-10-15 00:00:00.1000001,3,5000,20
";

const BURSTGPT: &str = "\
Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,472,18,490,Conversation log
45,ChatGPT,1087,230,1317,Conversation log
45,GPT-4,417,0,417,API log
45,GPT-4,1360,276,1636,Conversation log
118,ChatGPT,1838,209,2047,Conversation log
";

const BURSTGPT_2: &str = "\
Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type
19440110.0,1722ac82-0a46-4bf0-aa08-89794e7a2b3f,43,GPT-4,906,446,1352,Conversation log
19440161.0,,2,ChatGPT,36,29,65,API log
";

const MOONCAKE: &str = r#"{"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, 2]}
{"timestamp": 0, "input_length": 7319, "output_length": 490, "hash_ids": [0, 14]}
{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]}
"#;

const AIPERF: &str = r#"{"timestamp": 1000, "text_input": "Count to {\"timestamp\": 9}."}
{"timestamp": 1500, "text_input": "Again.", "session_id": "a"}
"#;

const BAILIAN: &str = r#"{"chat_id":159,"parent_chat_id":-1,"timestamp":61.114,"input_length":521,"output_length":132}
{"chat_id":160,"parent_chat_id":159,"timestamp":62.5,"input_length":400,"output_length":80,"type":"text","turn":2}
"#;

const VEGETA: &str = r#"1700158546680590000,200,1234567,0,16,,eyJvayI6dHJ1ZX0=,attack,0,GET,http://127.0.0.1:8080/,
1700158546690590001,0,30000000000,0,0,"Get ""http://127.0.0.1:8080/"", timeout",,attack,1,GET,http://127.0.0.1:8080/,
"#;

const DUE: &str = "due_ns,sample,tokens_in,tokens_out\n1000,3,10,20\n1000,0,11,21\n2500,3,12,22\n";

/// The trace that a file with this content is, with options behind its name.
fn read_bytes(content: &[u8], options: &str) -> Result<ArrivalTrace, String> {
    let folder = tempfile::tempdir().unwrap();
    // The name says a wrong format: it does not count.
    let path = folder.path().join("trace.npz");
    std::fs::write(&path, content).unwrap();
    read_path(&path, options)
}

fn read_path(path: &Path, options: &str) -> Result<ArrivalTrace, String> {
    let spec: TraceSpec = format!("{}{options}", path.display()).parse().map_err(|error| format!("{error}"))?;
    let text_of = |error: ArrivalError| error.to_string().replace(&path.display().to_string(), "FILE");
    read(&spec, 7).map_err(text_of)
}

fn trace(content: &str, options: &str) -> ArrivalTrace {
    read_bytes(content.as_bytes(), options).unwrap()
}

fn refusal(content: &str, options: &str) -> String {
    read_bytes(content.as_bytes(), options).unwrap_err()
}

fn gzip(parts: &[&[u8]]) -> Vec<u8> {
    let mut packed = Vec::new();
    for part in parts {
        let mut encoder = GzEncoder::new(&mut packed, Compression::default());
        encoder.write_all(part).unwrap();
        encoder.finish().unwrap();
    }
    packed
}

#[test]
fn azure_keeps_seven_digits_of_a_second() {
    let arrivals = trace(AZURE, "");
    assert_eq!(arrivals.due_ns, [0, 4_314_579_000, 4_314_579_100, 13_319_410_000]);
    assert_eq!(arrivals.tokens_in, Some(vec![374, 396, 879, 91]));
    assert_eq!(arrivals.tokens_out, Some(vec![44, 109, 55, 16]));
    assert_eq!((arrivals.samples, arrivals.repeat_ns), (None, None));
    assert_eq!(arrivals.facts.format, TraceFormat::Azure);
    assert_eq!(arrivals.facts.first, "2023-11-16 18:15:46.6805900");
    assert_eq!(arrivals.facts.last, "2023-11-16 18:16:00.0000000");
    assert_eq!((arrivals.facts.rows, arrivals.facts.bytes), (4, AZURE.len() as u64));
    assert_eq!(arrivals.facts.sha256, hex::encode(Sha256::digest(AZURE)));
}

#[test]
fn azure_of_2024_has_offsets_and_of_2025_images() {
    assert_eq!(trace(AZURE_2024, "").due_ns, [0, 7_405_000, 990_070_000]);
    let images = trace(AZURE_LMM, "");
    assert_eq!((images.due_ns, images.tokens_in), (vec![0, 100], Some(vec![100, 5_000])));
    assert_eq!(images.facts.format, TraceFormat::Azure);
}

#[test]
fn times_within_ten_milliseconds_stay_apart() {
    let rows: String = (0..100).map(|at| format!("2023-11-16 18:15:46.68{at:02}000,1,1\n")).collect();
    let arrivals = trace(&format!("TIMESTAMP,ContextTokens,GeneratedTokens\n{rows}"), "");
    let expected: Vec<u64> = (0..100).map(|at| at * 100_000).collect();
    assert_eq!(arrivals.due_ns, expected);
}

#[test]
fn mooncake_counts_milliseconds() {
    let arrivals = trace(MOONCAKE, "");
    assert_eq!(arrivals.due_ns, [0, 0, 27_482 * MS], "27.482 s, not 27,482 s");
    assert_eq!((arrivals.tokens_in, arrivals.tokens_out), (Some(vec![6_758, 7_319, 6_955]), Some(vec![500, 490, 52])));
    assert_eq!((arrivals.facts.format, arrivals.facts.last.as_str()), (TraceFormat::Mooncake, "27482"));
    let fixed_schedule = trace(AIPERF, "");
    assert_eq!((fixed_schedule.due_ns, fixed_schedule.tokens_in), (vec![0, 500 * MS], None));
    assert_eq!(fixed_schedule.facts.format, TraceFormat::Mooncake);
}

#[test]
fn bailian_counts_seconds() {
    let arrivals = trace(BAILIAN, "");
    assert_eq!((arrivals.due_ns, arrivals.tokens_out), (vec![0, 1_386 * MS], Some(vec![132, 80])));
    assert_eq!((arrivals.facts.format, arrivals.facts.first.as_str()), (TraceFormat::Bailian, "61.114"));
}

#[test]
fn other_json_lines_need_a_unit() {
    let text = "{\"timestamp\": 1}\n{\"timestamp\": 2.5}\n{\"timestamp\": \"4\"}\n";
    assert_eq!(trace(text, ",unit=s").due_ns, [0, 1_500 * MS, 3_000 * MS]);
    assert_eq!(trace(text, ",format=jsonl,unit=us").due_ns, [0, 1_500, 3_000]);
    assert_eq!(refusal(text, ""), "FILE: line 1: the format jsonl has no unit of its own: give unit=s, ms, us or ns");
}

/// A source with Mooncake's keys counts seconds, as text; another has fractions of a second.
#[test]
fn seconds_are_not_taken_for_milliseconds() {
    let quoted = r#"{"timestamp": "0", "input_length": 1, "output_length": 1, "session_id": "a", "hash_ids": {}}"#;
    assert_eq!(
        refusal(quoted, ""),
        "FILE: line 1: timestamp is the text '0', not a number as in mooncake: give format=jsonl and its unit, such \
         as unit=s"
    );
    let fraction = r#"{"timestamp": 27.482, "input_length": 1, "output_length": 1}"#;
    assert_eq!(
        refusal(&format!("{MOONCAKE}{fraction}"), ""),
        "FILE: line 4: timestamp 27.482 is no whole number of milliseconds, as in mooncake: give format=mooncake where \
         it counts milliseconds; else give format=jsonl and its unit, such as unit=s"
    );
    let two = format!("{fraction}\n{}", fraction.replace("27.482", "28.5"));
    assert_eq!(trace(&two, ",format=mooncake").due_ns, [0, 1_018_000]);
    assert_eq!(trace(&two, ",format=jsonl,unit=s").due_ns, [0, 1_018 * MS]);
    assert!(refusal(&two, ",unit=s").contains("the format mooncake fixes its unit: leave unit= out"));
}

#[test]
fn burstgpt_needs_a_word_about_rows_of_one_second() {
    assert_eq!(
        refusal(BURSTGPT, ""),
        "FILE: second 45 has 3 rows: give within-second=uniform (drawn over the second), burst (all at its start) or \
         even (equal gaps)"
    );
    let more = format!("{BURSTGPT}118,ChatGPT,1,1,2,API log\n119,ChatGPT,1,1,2,API log\n");
    assert!(refusal(&more, "").contains("FILE: second 45 has 3 rows, and 1 later seconds have several: give "));
    let burst = trace(BURSTGPT, ",within-second=burst");
    assert_eq!(burst.due_ns, [0, 40 * S, 40 * S, 40 * S, 113 * S]);
    assert_eq!(burst.tokens_out, Some(vec![18, 230, 0, 276, 209]));
    let even = trace(BURSTGPT, ",within-second=even");
    assert_eq!(even.due_ns, [0, 40 * S, 40 * S + 333_333_333, 40 * S + 666_666_666, 113 * S]);
    assert_eq!(trace(BURSTGPT_2, "").due_ns, [0, 51 * S], "no second has several rows");
}

#[test]
fn uniform_times_are_those_of_the_seed() {
    let uniform = trace(BURSTGPT, ",within-second=uniform");
    let mut random = rand_mt::Mt::new(7);
    let mut draws: Vec<u64> = (0..5).map(|_| (u64::from(random.next_u32()) * S) >> 32).collect();
    draws[1..4].sort_unstable();
    let seconds = [0, 40, 40, 40, 113].map(|second| second * S);
    let expected: Vec<u64> = seconds.iter().zip(&draws).map(|(second, draw)| second + draw).collect();
    assert_eq!(uniform.due_ns, expected);
    assert!(uniform.due_ns.is_sorted() && draws.iter().all(|draw| *draw < S));
    let cut = trace(BURSTGPT, ",within-second=uniform,window=40s..41s");
    assert_eq!(cut.due_ns, draws[1..4], "a window leaves the times of its rows as they are");
}

#[test]
fn rows_that_failed_are_counted_and_kept_unless_told_otherwise() {
    let arrivals = trace(BURSTGPT, ",within-second=burst");
    assert_eq!((arrivals.facts.rows, arrivals.facts.failed, arrivals.facts.dropped), (5, 1, DroppedRows::default()));
    let dropped = trace(BURSTGPT, ",within-second=even,fails=drop");
    assert_eq!(dropped.due_ns, [0, 40 * S, 40 * S + 500 * MS, 113 * S]);
    assert_eq!(dropped.facts.dropped, DroppedRows { failed: 1, outside_window: 0 });
    assert_eq!((dropped.facts.rows, dropped.facts.failed), (5, 1));
    let first_failed = BURSTGPT.replace("472,18", "472,0");
    assert_eq!(trace(&first_failed, ",within-second=burst,fails=drop").due_ns[0], 40 * S, "the start stays");
    let failed = "Timestamp,Request tokens,Response tokens\n5,1,0\n9,1,0\n";
    assert_eq!(refusal(failed, ",fails=drop"), "FILE: all 2 rows failed in the source, and fails=drop leaves them out");
}

#[test]
fn vegeta_has_unix_times_and_no_header() {
    let arrivals = trace(VEGETA, "");
    assert_eq!((arrivals.due_ns, arrivals.facts.format), (vec![0, 10_000_001], TraceFormat::Vegeta));
    assert_eq!(arrivals.tokens_in, None);
    assert_eq!(
        refusal(&format!("{VEGETA}17001585466,200"), ""),
        "FILE: line 3: it has 2 columns, results of vegeta have 7 or more"
    );
    let by_end: Vec<&str> = VEGETA.lines().rev().collect();
    assert_eq!(trace(&by_end.join("\n"), ",sort=yes").due_ns, [0, 10_000_001]);
}

/// The times of perf_analyzer's manual: gaps of 0.1, 0.2 and 0.5 s are 0.1, 0.3, 0.8, 0.9, 1.1 and 1.6 s.
#[test]
fn gaps_lead_to_queries_and_repeat_without_a_pause() {
    let text = "100000\n200000\n500000\n";
    let arrivals = trace(text, ",unit=us,repeat");
    assert_eq!((arrivals.due_ns, arrivals.repeat_ns), (vec![100 * MS, 300 * MS, 800 * MS], Some(800 * MS)));
    assert_eq!((arrivals.facts.first.as_str(), arrivals.facts.last.as_str()), ("100000", "500000"));
    assert_eq!(refusal(text, ""), "FILE: line 1: the format gaps has no unit of its own: give unit=s, ms, us or ns");
    assert_eq!(trace("1.5e-01\n0\n5.000000000000000240e-05\n", ",unit=s").due_ns, [150 * MS, 150 * MS, 150_050_000]);
}

#[test]
fn our_own_times_are_taken_as_they_are() {
    let arrivals = trace(DUE, "");
    assert_eq!((arrivals.due_ns, arrivals.samples), (vec![1_000, 1_000, 2_500], Some(vec![3, 0, 3])));
    assert_eq!((arrivals.tokens_in, arrivals.tokens_out), (Some(vec![10, 11, 12]), Some(vec![20, 21, 22])));
    let bare = trace("due_ns\n5\n7\n", "");
    assert_eq!((bare.due_ns, bare.samples, bare.tokens_in), (vec![5, 7], None, None));
    let some = trace("tokens_out,due_ns\n1,5\n2,7\n", "");
    assert_eq!((some.due_ns, some.tokens_in, some.tokens_out), (vec![5, 7], None, Some(vec![1, 2])));
    assert_eq!(
        refusal("due_ns,tenant\n5,a\n", ""),
        "FILE: line 1: column 'tenant' is unknown; due has header due_ns[,sample][,tokens_in][,tokens_out]"
    );
    assert_eq!(refusal("due_ns\n5.5\n", ""), "FILE: line 2: due_ns: '5.5' is no whole number of nanoseconds");
}

#[test]
fn line_ends_marks_and_packing_make_no_difference() {
    let plain = trace(AZURE, "");
    let crlf = AZURE.replace('\n', "\r\n");
    let (first, second) = AZURE.as_bytes().split_at(AZURE.len() / 2);
    for content in [
        crlf.clone().into_bytes(),
        format!("\u{feff}{crlf}\r\n\r\n").into_bytes(),
        AZURE.trim_end().as_bytes().to_vec(),
        gzip(&[AZURE.as_bytes()]),
        gzip(&[first, second]),
    ] {
        let arrivals = read_bytes(&content, "").unwrap();
        assert_eq!((arrivals.due_ns, arrivals.tokens_in), (plain.due_ns.clone(), plain.tokens_in.clone()));
        assert_eq!(arrivals.facts.sha256, hex::encode(Sha256::digest(&content)), "the sum is that of the file");
        assert_eq!(arrivals.facts.is_gzip, content.starts_with(&[0x1f, 0x8b]));
        assert_eq!(arrivals.facts.bytes, content.len() as u64);
    }
}

#[test]
fn a_window_is_cut_before_the_rate_is_scaled() {
    let arrivals = trace(AZURE, ",window=4s..10s,scale=2");
    assert_eq!(arrivals.due_ns, [157_289_500, 157_289_550]);
    assert_eq!(arrivals.tokens_in, Some(vec![396, 879]));
    assert_eq!((arrivals.facts.rows, arrivals.facts.dropped), (4, DroppedRows { failed: 0, outside_window: 2 }));
    let edges = "due_ns,sample\n1000,0\n2000,1\n3000,2\n";
    assert_eq!(trace(edges, ",window=1us..3us").due_ns, [0, 1_000], "the start belongs to a window, the end does not");
    assert_eq!(trace(edges, ",window=2us..").samples, Some(vec![1, 2]));
    assert_eq!(trace(edges, ",scale=0.5").due_ns, [2_000, 4_000, 6_000]);
    assert_eq!(refusal(edges, ",window=1s..2s"), "FILE: window=1s..2s has no row: the last row of the trace is at 3us");
    let long = format!("due_ns\n{}\n", u64::MAX);
    assert_eq!(refusal(&long, ",scale=0.5"), "FILE: scale=0.5 makes the trace longer than 584 years");
}

#[test]
fn a_trace_repeats_at_its_end() {
    let repeat_ns = |content: &str, options: &str| trace(content, options).repeat_ns;
    assert_eq!(repeat_ns(DUE, ",repeat"), Some(2_500 + 750), "one mean gap after the last row");
    assert_eq!(repeat_ns(DUE, ",repeat,scale=2"), Some(1_625));
    assert_eq!(repeat_ns(DUE, ",repeat,window=1us..4us,scale=2"), Some(1_500));
    assert_eq!(repeat_ns(DUE, ",repeat,window=2us.."), Some(1_250));
    assert_eq!(repeat_ns(BURSTGPT, ",repeat,within-second=uniform"), Some(114 * S), "whole seconds");
    assert_eq!(repeat_ns(DUE, ""), None);
    for one in ["due_ns\n5\n", "due_ns\n5\n5\n"] {
        assert_eq!(
            refusal(one, ",repeat"),
            "FILE: repeat: all rows have one time, so there is no mean gap: give window=FROM..TO"
        );
        assert_eq!(repeat_ns(one, ",repeat,window=0s..1s"), Some(S));
    }
    assert_eq!(
        refusal("0\n0\n", ",unit=s,repeat"),
        "FILE: repeat: the trace takes no time, so it cannot repeat: give window="
    );
}

#[test]
fn rows_that_go_back_in_time_are_refused_or_sorted() {
    let text = "due_ns,sample\n10,0\n30,1\n20,2\n20,3\n";
    assert_eq!(refusal(text, ""), "FILE: line 4: time 20 is 10ns before that of the line before: give sort=yes");
    let arrivals = trace(text, ",sort=yes");
    assert_eq!((arrivals.due_ns, arrivals.samples), (vec![10, 20, 20, 30], Some(vec![0, 2, 3, 1])));
    assert_eq!(
        (arrivals.facts.out_of_order, arrivals.facts.first.as_str(), arrivals.facts.last.as_str()),
        (1, "10", "30")
    );
    let reversed: Vec<&str> = MOONCAKE.lines().rev().collect();
    assert_eq!(trace(&reversed.join("\n"), ",sort=yes").due_ns, [0, 0, 27_482 * MS], "the earliest row is the start");
}

#[test]
fn each_wrong_line_is_named_with_its_number() {
    let azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
    for (content, options, reason) in [
        (
            "TIMESTAMP,ContextTokens\n".to_owned(),
            "",
            "line 1: column GeneratedTokens is missing in the header; azure has header \
             TIMESTAMP,ContextTokens,GeneratedTokens",
        ),
        (
            "Timestamp,Model\n".to_owned(),
            "",
            "line 1: column Request tokens is missing in the header; burstgpt has header with Timestamp, Request \
             tokens, Response tokens",
        ),
        (
            "time\n".to_owned(),
            ",format=due",
            "line 1: column due_ns is missing in the header; due has header due_ns[,sample][,tokens_in][,tokens_out]",
        ),
        ("due_ns,due_ns\n".to_owned(), "", "line 1: column 'due_ns' stands twice in the header"),
        (
            format!("{azure}2023-11-16 18:15:46,1,1\n2023-11-16 18:15:47,1\n"),
            "",
            "line 3: it has 2 columns, the header has 3",
        ),
        (
            format!("{azure}46.68,1,1\n"),
            "",
            "line 2: TIMESTAMP: '46.68' is no date from 1970 on, such as 2023-11-16 18:15:46.6805900",
        ),
        (format!("{azure}2023-11-16 18:15:46,x,1\n"), "", "line 2: ContextTokens: 'x' is no whole number of 32 bits"),
        (BURSTGPT.replace("118", "NaN"), "", "line 6: Timestamp: 'NaN' is no number"),
        (BURSTGPT.replace("118", "-118"), "", "line 6: Timestamp: '-118' is negative"),
        (BURSTGPT.replace("118", ""), "", "line 6: Timestamp: '' is no number"),
        (MOONCAKE.replace("27482", "-1"), "", "line 3: timestamp: '-1' is negative"),
        (MOONCAKE.replace("27482", "NaN"), "", "line 3: expected value (column 15)"),
        (MOONCAKE.replace("27482", "null"), "", "line 3: key timestamp is missing"),
        (MOONCAKE.replace("\"timestamp\": 27482, ", ""), "", "line 3: key timestamp is missing"),
        (MOONCAKE.replace("27482", "[1]"), "", "line 3: timestamp: '[1]' is no number"),
        (
            MOONCAKE.replace("\"input_length\": 6955, ", ""),
            "",
            "line 3: it has no count of input tokens, the rows before have one: all rows have one, or none",
        ),
        (
            AIPERF.replace("\"timestamp\": 1500", "\"delay\": 500"),
            "",
            "line 2: it has a delay and no timestamp: a turn that waits for an answer has no time of its own; leave \
             such lines out",
        ),
        (
            format!("{MOONCAKE}{}", "{\"timestamp\": 30000, \"input_length\": -5}"),
            "",
            "line 4: invalid value: integer `-5`, expected u32 (column 39)",
        ),
        (format!("{MOONCAKE}timestamp\n"), "", "line 4: expected ident (column 2)"),
        ("1\n2\nx\n".to_owned(), ",unit=s", "line 3: 'x' is no number"),
        ("1\n-2\n".to_owned(), ",unit=s", "line 2: '-2' is negative"),
        (VEGETA.replace("1700158546690590001", "1.7e18"), "", "line 2: '1.7e18' is no whole number of nanoseconds"),
        (format!("{0}\n{0}\n", u64::MAX), ",unit=ns", "line 2: the gaps so far are more than 584 years"),
        ("due_ns\n1\n\n2\n".to_owned(), "", "line 3: it is empty, and rows follow: remove it"),
        ("{\"timestamp\": 1,\n\"input_length\": 1}".to_owned(), "", "line 1: EOF while parsing a value (column 16)"),
    ] {
        assert_eq!(refusal(&content, options), format!("FILE: {reason}"));
    }
}

#[test]
fn formats_that_nobody_knows_get_the_list_of_those_that_are_known() {
    for text in ["arrival,tokens\n1,2\n", "[{\"timestamp\": 1}]\n", "1,2\n", "<html>\n", "NaN\n"] {
        let message = refusal(text, "");
        let first = text.lines().next().unwrap();
        assert!(
            message.starts_with(&format!("FILE: line 1: '{first}' begins no trace of a known format: azure (")),
            "{message}"
        );
        assert!(
            TraceFormat::ALL.iter().all(|format| message.contains(&format!("{format} ({})", format.signs()))),
            "{message}"
        );
    }
    let long = "x".repeat(1_000);
    assert!(refusal(&long, "").starts_with(&format!("FILE: line 1: '{}...' begins", &long[..60])));
}

#[test]
fn traces_without_rows_are_refused() {
    assert_eq!(refusal("", ""), "FILE: it is empty: a trace has a row for each query");
    assert_eq!(refusal("\r\n\n", ""), "FILE: it is empty: a trace has a row for each query");
    assert_eq!(refusal("due_ns\n", ""), "FILE: it has no rows");
}

#[test]
fn options_of_other_formats_are_refused() {
    assert!(refusal(AZURE, ",unit=s").contains("line 1: the format azure fixes its unit: leave unit= out"));
    assert!(
        refusal(AZURE, ",within-second=even").contains("within-second= is for burstgpt, whose times are whole seconds")
    );
    assert!(refusal(MOONCAKE, ",fails=drop").contains("fails= is for burstgpt, whose rows say that they failed"));
    let fractions = BURSTGPT_2.replace("161.0", "161.5");
    assert_eq!(trace(&fractions, "").due_ns, [0, 51_500 * MS]);
    assert_eq!(
        refusal(&fractions, ",within-second=even"),
        "FILE: its times have fractions of seconds: leave within-second= out"
    );
}

#[test]
fn pipes_devices_and_endless_files_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let fifo = path("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    std::fs::File::create(path("sparse")).unwrap().set_len(20 << 30).unwrap();
    std::fs::File::create(path("line")).unwrap().set_len(1 << 30).unwrap();
    for (path, reason) in [
        (fifo.as_path(), "cannot read FILE: it is a named pipe, not a file"),
        (Path::new("/dev/zero"), "cannot read FILE: it is a device, not a file"),
        (folder.path(), "cannot read FILE: it is a folder, not a file"),
        (&path("none"), "cannot read FILE: No such file or directory (os error 2)"),
        (&path("sparse"), "cannot read FILE: it has 21474836480 bytes, of which at most 17179869184 are read"),
        (&path("line"), "FILE: line 1: it has more than 16777216 bytes, the most that are read of a line"),
    ] {
        assert_eq!(read_path(path, "").unwrap_err(), reason);
    }
}

#[test]
fn packed_files_are_unpacked_within_limits() {
    let long_line = gzip(&[&vec![b'7'; 17 << 20]]);
    assert!(long_line.len() < 100_000);
    let message = read_bytes(&long_line, "").unwrap_err();
    assert_eq!(message, "FILE: line 1: it has more than 16777216 bytes, the most that are read of a line");
    let empty_lines = gzip(&[&vec![b'\n'; 1 << 20]]);
    let message = read_bytes(&empty_lines, "").unwrap_err();
    assert_eq!(message, "FILE: line 1001: more than 1000 empty lines follow each other");
    let whole = gzip(&[AZURE.as_bytes()]);
    for cut in [&whole[..whole.len() - 9], &whole[..whole.len() / 2], &whole[..5]] {
        let message = read_bytes(cut, "").unwrap_err();
        assert!(message.starts_with("FILE: line ") && message.contains("cannot read on: "), "{message}");
    }
    let mut altered = whole.clone();
    let at = altered.len() - 6;
    altered[at] ^= 1;
    assert!(read_bytes(&altered, "").unwrap_err().contains("cannot read on: corrupt"), "the checksum of gzip counts");
    let message = read_bytes(&[&whole[..], b"tail"].concat(), "").unwrap_err();
    assert!(message.contains("cannot read on: "), "{message}");
}

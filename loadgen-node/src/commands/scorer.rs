//! The option `accuracy --scorer`: a command of the user's scores an accuracy log, where nothing here can.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, anyhow};
use lon_qsl::benchmark::{Benchmark, Bound};

use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::outputs::documents::scores::ScoresDocument;

/// Starts the command with the path of the log behind it, and holds what it prints against the bounds of the round.
pub(super) fn scores(command: &str, log: &Path, benchmark: &Benchmark, round: &str) -> Outcome<ScoresDocument> {
    let scores = printed(command, log).with_context(|| format!("the scorer '{command}'")).or_exit(Exit::Usage)?;
    Ok(ScoresDocument::new(command, round, scores, &bounds(benchmark, round)))
}

/// The bounds of the official rules, of their lowest variant; where there are none, as for a benchmark of the user's,
/// the target of the benchmark.
fn bounds(benchmark: &Benchmark, round: &str) -> Vec<Bound> {
    let official = if benchmark.file.is_none() { benchmark.official(round) } else { Default::default() };
    if let Some(lowest) = official.first() {
        return lowest.bounds.clone();
    }
    let own = benchmark.accuracy.map(|target| Bound {
        metric: target.metric.name().to_owned(),
        at_least: target.at_least,
        at_most: target.at_most,
    });
    own.into_iter().collect()
}

/// Runs the command in a shell; what it prints to standard output are its scores.
pub(super) fn printed(command: &str, log: &Path) -> anyhow::Result<BTreeMap<String, f64>> {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{command} \"$1\"")).arg("sh").arg(log);
    let output = shell.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context("cannot be started")?;
    if !output.status.success() {
        return Err(anyhow!("failed: {}", output.status));
    }
    read(&output.stdout)
}

/// Reads scores by the names of their metrics.
fn read(printed: &[u8]) -> anyhow::Result<BTreeMap<String, f64>> {
    let scores: BTreeMap<String, f64> =
        serde_json::from_slice(printed).context("did not print one JSON object of numbers")?;
    match scores.is_empty() {
        true => Err(anyhow!("printed no score")),
        false => Ok(scores),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(command: &str) -> String {
        let benchmark = Benchmark::find("stable-diffusion-xl").unwrap();
        format!("{:?}", scores(command, Path::new("/a log"), benchmark, "v5.0").unwrap_err())
    }

    #[test]
    fn the_log_stands_behind_the_command() {
        let benchmark = Benchmark::find("stable-diffusion-xl").unwrap();
        let command = r#"printf '{"FID_SCORE": 23.5, "CLIP_SCORE": %s}' 31.75 #"#;
        assert!(scores(command, Path::new("/a log"), benchmark, "v5.0").unwrap().passed == Some(true));
        let length = r#"f() { printf '{"FID_SCORE": %s}' "${#1}"; }; f"#;
        let document = scores(length, Path::new("/a log"), benchmark, "v5.0").unwrap();
        assert_eq!((document.scores[0].value, document.missing[0].as_str()), (6.0, "CLIP_SCORE"));
    }

    #[test]
    fn a_benchmark_without_official_bounds_has_its_own_target() {
        let benchmark = Benchmark::find("digits").unwrap();
        let passed = |command: &str| scores(command, Path::new("/a log"), benchmark, "v5.0").unwrap().passed;
        assert_eq!(passed("echo '{\"top1\": 0.1}' #"), Some(false));
        assert_eq!(passed("echo '{\"top1\": 99}' #"), Some(true));
    }

    #[test]
    fn what_is_no_score_names_the_command() {
        for (command, reason) in [
            ("exit 3;", "exit status: 3"),
            ("/no/such/scorer", "exit status: 127"),
            ("true", "one JSON object"),
            ("echo '[1]' #", "one JSON object"),
            ("echo '{\"FID_SCORE\": \"23\"}' #", "one JSON object"),
            ("echo '{}' #", "no score"),
        ] {
            let fault = fault(command);
            assert!(fault.contains(reason) && fault.contains("the scorer '"), "{command}: {fault}");
        }
    }
}

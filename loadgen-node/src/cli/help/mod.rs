//! The texts of `--help` after the flags: examples, and the output of a command. Commands and tables have at most 80
//! columns, so that no terminal breaks a command in two. Prose is broken by the terminal's width: a paragraph is one
//! line.

use loadgen::settings::{SettingKey, setting_keys};

mod nodes;

pub(crate) use nodes::{FLEET, PROBE};

/// The text below the short list of commands.
pub(crate) const UNOFFICIAL: &str =
    "--help has the exit codes, too. Results of this tool are unverified and are not official MLPerf results.";

/// The table for `--help`.
pub(crate) const EXIT_CODES: &str = "Exit codes:
  0  VALID, or the command did its job
  1  a bug, not everything could be written, or two verdicts that differ
  2  usage, configuration, a file or a model that does not fit, before the start
  3  the run finished and is INVALID
  4  SUT nodes or the network failed
  5  interrupted by SIGINT or SIGTERM; partial results are written

Results of this tool are unverified and are not official MLPerf results. MLPerf is a trademark of MLCommons.";

#[cfg(feature = "demo")]
pub(crate) const DEMO: &str = "Example:
  loadgen-node demo
  loadgen-node demo --out /tmp/demo";

pub(crate) const RUN_IN_SHORT: &str = "Example:
  loadgen-node run --sut 10.0.0.2:8000 --insecure --benchmark digits \\
      --scenario Offline
--help has all flags, datasets, settings and more examples.";

pub(crate) const RUN: &str = "Examples:
  loadgen-node run --sut 10.0.0.2:8000,10.0.0.3:8000 --insecure \\
      --benchmark digits --scenario Server --set target_qps=500
  loadgen-node run --sut @nodes.txt --tls-ca ca.pem --benchmark digits \\
      --scenario Offline --mode AccuracyOnly
  loadgen-node run --sut dns:sut:8000 --transport quic --tls-ca ca.pem \\
      --benchmark synthetic --dataset 'synthetic:u8[64]x1024' \\
      --scenario SingleStream --set target_latency=0.05,min_duration=5000
  loadgen-node run --sut 10.0.0.2:8000 --insecure --benchmark digits \\
      --scenario Offline --repeat 3 --out results/three
  loadgen-node run --transport kserve --insecure --model digits \\
      --sut triton1=10.0.0.2:8001,triton2=10.0.0.3:8001 \\
      --benchmark digits --scenario Server --set target_qps=500

Servers of KServe's protocol (Open Inference Protocol over gRPC: Triton, mlserver, ...) need no SUT node. They have \
no names, codecs, first tokens or counters, so such runs have none either.

Without --tls-ca nothing is encrypted, and nodes on other hosts are asked with --insecure only. Over QUIC, which is \
always encrypted, it means that whoever answers is taken for the node.

Datasets (--dataset), and where their labels are:
  a folder of JPEGs  val_map.txt: a line 'relative/path.jpg LABEL' for each;
                     or boxes in annotations.json, in the form of COCO
  COCO's folder      val2017 and annotations/instances_val2017.json: a sample
                     for each image of that file, its boxes as labels
  SQuAD's folder     dev-v1.1.json as it is published and the model's
                     vocab.txt; a sample for each window of 384 pieces of
                     words, the answers as labels
  FILE.npy           first axis: samples; labels.txt (a whole number a line)
                     or labels.npy (int32 or int64, one dimension) beside it
  a folder of .npy   a file for each sample, in the order of names; labels as
                     above
  FILE.npz           an array for each input; array 'labels' or 'label', or as
                     above
  FILE.jsonl         a line {\"prompt\":\"...\"} or {\"input_ids\":[1,2]} for each;
                     may have attention_mask, token_type_ids, max_tokens, and
                     label (a class) or answers (a list of texts); part names
                     the part of the dataset, where each is scored apart
  FILE.toml          raw little-endian tensors; also a folder with
                     dataset.toml. labels, sha256 are optional, and
                     files = [..] is a file for each sample:
                       schema = 1
                       samples = 100
                       labels = \"labels.txt\"
                       [[tensors]]
                       dtype = \"f32\"
                       dims = [3, 224, 224]
                       file = \"images.bin\"
  synthetic:DTYPE[DIMS]xCOUNT           noise, without labels
  synthetic:image-u8[224,224,3]xCOUNT   what a codec gains on images
  synthetic:tokens-i64[384]xCOUNT       what it gains on text as token ids
  synthetic:A+B+CxCOUNT                 several tensors, each as above, or
                                        ones- or zeros- as in
    synthetic:tokens-i64[384]+ones-i64[384]+zeros-i64[384]xCOUNT

With a SHA256SUMS beside them files must be in it, and be what it says. --benchmark synthetic takes data of any shape; \
the others take what their models do (`loadgen-node conf` shows it), or synthetic: samples of any shape, with a mark; \
a benchmark of one's own, with an accuracy target, is a file (--benchmark NAME.toml).

Settings have LoadGen's config keys and units: target_qps, target_latency (ms), min_duration (ms), min_query_count, \
samples_per_query, target_latency_percentile (percent), and the rest of them; a wrong key lists the right ones. \
Highest first: --audit-conf, --set and other flags, --user-conf, --mlperf-conf, the benchmark, the round (--rules), \
LoadGen's default. A key that none of them sets has LoadGen's default: target_qps 1, min_duration 10000, \
min_query_count 100 (Offline counts samples). `loadgen-node conf` prints each setting with its origin, and the time, \
memory and bytes of the run.";

pub(crate) const TRACE: &str = "Prints one JSON object {\"phases\":[...]}: per phase the loaded set, the sample \
indices in issue order, the schedule in ns (Server), and which samples the accuracy log takes. FILE.json is \
{\"qsl\":{\"total\":..,\"performance\":..},\"settings\":{...}} with the field names of LoadGen's TestSettings.

--vector takes recorded cases of the LoadGen of round v0.5, a JSON document each. Its \"kind\" is traffic, intervals, \
judging, search, config, accuracylog or official (a published log). A case has settings, the sizes of the library and \
the latencies of a SUT. The engine runs it in virtual time by the rules of that round. The computed result is \
then compared with that of the case. Each file gets a line, 'FILE: equal' or the first difference with its place in \
the document and both values. Latencies of a published log are unknown: words that follow from them alone have to be \
possible, and its verdict has to follow from the rules that it says are kept. Exit code 0 when all are equal, 1 when \
something differs, 2 when a file is no such case.

Examples, with s.json being
  {\"qsl\":{\"total\":100,\"performance\":50},
   \"settings\":{\"scenario\":\"Server\",\"server_target_qps\":1000}}

  loadgen-node trace --settings s.json --digest
  loadgen-node trace --vector case.json
  loadgen-node trace --benchmark digits --scenario Server --picture s.svg";

pub(crate) const REPLAY: &str = "--timeline takes the timeline.bin of a run folder, which has all that is needed, and \
prints the summary file: by the run's own settings, unless --settings or --set change them. Both verdicts follow on \
standard error, this program's and that of LoadGen's own checks.

--official takes the folder (OFFICIAL below) in which the official LoadGen left mlperf_log_detail.txt and \
mlperf_log_summary.txt. It judges the run again and compares the settings in force, every result and the lines of the \
summary. mlperf_log_trace.json (LogSettings.enable_trace) has all latencies in ns, so results are equal to the digit. \
In SingleStream and MultiStream the trace shows the start of the phase to some microseconds only. Values that depend \
on the start are compared within them. Times per token also need mlperf_log_accuracy.json with an answer for each \
sample (accuracy_log_probability 1). Without these files, what follows from settings and other results is compared, \
and the rest is listed as unchecked. `run --trace-log` of this program writes the trace, too.

--report-vector is for tests of the rules. It takes one JSON object, and prints {\"summary\": TEXT of the summary \
file, \"detail\": [[KEY, TEXT OF THE JSON VALUE], ...]}. The object has these keys and no others:
  sut_name  text
  qsl       {\"total\":..,\"performance\":..}, the library's sample counts
  settings  field names of LoadGen's TestSettings; defaults for those left out
  result    what was measured:
    sample_latencies                   list of ns
    query_latencies                    list of ns (MultiStream)
    first_token_latencies              list of ns (token runs)
    time_per_output_token              list of ns (token runs)
    tokens_per_sample                  list of counts (token runs)
    queries_issued                     count
    max_latency                        of a sample, in seconds
    final_query_scheduled_time         of the last query, in seconds from the
    final_query_issued_time            start, as are these two
    final_query_all_samples_done_time

Examples, with RUN being a run folder and results.json having
  {\"sut_name\":\"S\",\"qsl\":{\"total\":4,\"performance\":4},
   \"settings\":{\"scenario\":\"Offline\"},
   \"result\":{\"sample_latencies\":[5,6],\"queries_issued\":1,\"max_latency\":6e-9,
             \"final_query_scheduled_time\":0,\"final_query_issued_time\":0,
             \"final_query_all_samples_done_time\":6e-9}}

  loadgen-node replay --timeline RUN/timeline.bin --set target_latency=50
  loadgen-node replay --timeline RUN/timeline.bin --within latency=20ms
  loadgen-node replay --official OFFICIAL
  loadgen-node replay --report-vector results.json

Exit code of --timeline: that of the run with these settings. Of --official: 0 when nothing differs and both verdicts \
are VALID, or the logs have no verdict (accuracy runs); 3 when nothing differs and the verdict is INVALID or \
unchecked; 1 when something differs; 2 when a file is missing or broken.";

pub(crate) const SHOW: &str = "Examples, with RUN being a run folder:
  loadgen-node show RUN
  loadgen-node show --json RUN
  loadgen-node show --division RUN

Exit code 0 when there is a result to show, VALID or not.";

pub(crate) const RECOVER: &str =
    "While a run goes on, its folder has the ends of its samples and its answers, as of a second ago at most. When \
the program was killed, this makes of them timeline.bin, the accuracy log, the summary and the result, which is \
INVALID: it says that the run was killed. Where only names of files were missing, it gives them, and the result is the \
run's own.

Examples, with KILLED being the folder of such a run:
  loadgen-node recover KILLED
  loadgen-node recover --json KILLED

Exit code 0 when there is a result to show, VALID or not.";

pub(crate) const ACCURACY: &str = "Examples, with RUN being a run folder:
  loadgen-node accuracy RUN
  loadgen-node accuracy --json RUN
  loadgen-node accuracy --format md RUN
  loadgen-node accuracy --backup BACKUP RUN
  loadgen-node accuracy --scorer 'python3 score.py --images images' RUN

Of a performance run that has logged some answers (TEST01) these are scored, without a verdict: the target is for \
all samples.

A log that truncate_accuracy_log.py has shortened is read from the folder that was given to it as --backup. The file \
is found by the line hash=SHA256 in accuracy.txt. A whole log has to have that hash, where there is one.

With --scorer the scores are held against the bounds of the run's round, or against the target of a benchmark's own \
file.

Exit code 2 when a scorer fails or prints something else, 3 when a target is missed or has no score.";

pub(crate) const DATASET: &str = "Every sample is read, and every fault is told on a line of its own: the number of \
samples, their types and shapes, files that are not as SHA256SUMS or a published sum says, right answers that lack. \
Parts that could not be checked are listed as unchecked.

Examples, with DIGITS being a copy of the folder loadgen-node/qsl/digits:
  loadgen-node dataset verify DIGITS --benchmark digits
  loadgen-node dataset verify DIGITS --benchmark digits --json

Exit code 3 when anything is wrong, 2 when there is no such file or benchmark.";

pub(crate) const REPORT: &str = "The verdict, the speed of the run, its limit and the network traffic stand first; \
then curves, nodes, the network, rules, settings and systems. The page loads nothing and has no script. \
It can be made again at any time, and of folders of earlier versions, too: what a folder does not have is named.

Examples:
  loadgen-node report RUN
  loadgen-node report RUN --out /tmp/report.html --picture /tmp/report.svg

Exit code 2 when the folder has no result, or the page cannot be written.";

pub(crate) const LIST: &str = "Examples:
  loadgen-node list
  loadgen-node list --scenario Server --result valid --last 5 --format md
  loadgen-node list --label rack=7
  loadgen-node list --related
  loadgen-node list --format csv

--format csv has each number in a column of its own: metric_value, p99_ns, target_qps, accuracy and others.

Exit code 2 when the folder cannot be read. The row of a run says whether it is VALID.";

pub(crate) const EXPORT: &str = "Columns:
  sample, query        from 0, in the order in which they were issued
  qsl_idx              index of the sample in the dataset, from 0, as in
                       mlperf_log_accuracy.json
  start_ns             when the latency started, from the start of the phase
  latency_ns           latency of an answered sample
  end                  answered, failed or lost
  first_token_ns, tokens
                       in token runs: latency of the first token, and tokens of
                       the answer
  node                 the SUT node. This column and the next ones need
                       run --record-stages. The next ones add up to latency_ns:
  before_sending_ns    from when the sample was due until its last byte was
                       given to the network
  outside_sut_ns       network, and sending and receiving at both ends
  decode_ns            from the bytes of the sample to its tensors
  preprocess_ns        from pixels to the input of the model
  queue_ns             waiting for a free worker
  batch_ns             from when a worker was free until it took the sample
  inference_ns         the backend at work
  postprocess_ns       from the outputs of the model to the answer
  encode_ns            from the answer to the bytes of its codec
  inflate_ns           from the bytes of the answer to its tensors, here

Unknown values are empty, in Parquet null. Accuracy phases have no timeline. Memory does not grow with the number of \
samples. Stages are recorded to 12 significant bits: before_sending_ns also has what this rounds off.

Examples:
  loadgen-node export RUN
  loadgen-node export RUN --to parquet --out samples.parquet

Exit code 2 when the folder has no timeline, or the file is there already.";

pub(crate) const INFER: &str =
    "The rules for edge systems (MLPerf inference rules, section 4.1.1) let results follow from a run:
  MultiStream from SingleStream  8 times the 99th percentile of the latency
  Offline from SingleStream      1 divided by the mean latency
  Offline from MultiStream       samples per query divided by the mean latency

Each result is marked as inferred, with its formula and the values that it takes from the detail log, by the keys of \
the official submission checker. Where a result does not follow, the reason stands in its place. The Network division \
has no edge suite.

Examples, with RUN being a run folder:
  loadgen-node infer RUN
  loadgen-node infer --json RUN

Exit code 0 whether a result follows or not, 2 when the folder has no run.";

pub(crate) const COMPARE: &str = "Each side is a run folder, or the folders of repeats with commas between; all are \
compared with the first. Settings, hosts and versions that are not the same come first. Runs of another benchmark, \
scenario or dataset cannot be compared; values that both have are shown all the same.

Findings are better, worse, noise, same (bytes less than 1 % apart), differs, as asked, not judged (no interval) and \
not in both. A rate is as asked where the load that was asked for differs as much: target_qps in Server, \
samples_per_query in MultiStream. Bytes over another transport or codec are neither better nor worse. metric_rate \
follows LoadGen's formula, which in Server leaves out one sample; rate counts all answers.

The interval says where a difference is with a confidence of 95 %. Of single runs it comes from blocks of their \
timelines, which are drawn again a thousand times; run-to-run variation is not in it. Of three or more repeats \
on both sides it comes from their means. A difference whose interval has 0 in it is noise.

--fail-if takes the word in brackets behind a quantity, < or >, and a difference in percent, a duration or a number; \
or 'invalid'. It can be repeated. It is checked for every side but the first. A difference that is \
noise or the same never fails.

--format csv has a row for each setting that differs (kind: different) and for each quantity (kind: quantity).

Examples:
  loadgen-node compare RUN /tmp/demo
  loadgen-node compare RUN /tmp/demo --html /tmp/compare.html --format md
  loadgen-node compare RUN RUN --fail-if 'p99>+5%' --fail-if 'rate<-5%'

Exit code 3 when a condition of --fail-if holds, 2 when it cannot be judged or a folder has no result.";

pub(crate) const AUDIT: &str = "First the reference (a performance run, for TEST01 also an accuracy run), then the \
test: the same performance run with the settings of the audit, which --print-conf prints and `run --audit-conf` takes. \
Folders are those of this program, or have the logs of an official LoadGen: all in one folder, or as submissions have \
them, in performance/run_1 and accuracy.

Tests (--explain has a page on each):
  TEST01  answers while measured are those of the accuracy run
  TEST04  one sample again and again is not answered faster than many
  TEST05  other seeds are not slower; its settings go to `run --mlperf-conf`
  TEST06  tokens are those that were reported; needs no reference
  TEST07  answers while measured reach a score; needs no reference, but --scorer
  TEST08  predictions are as good as those of the accuracy run (dlrm-v3)
  TEST09  the mean number of tokens is between two bounds; needs no reference
  CUSTOM  a dataset of your own is answered as well and as fast as the official one

Rows are either rules of the official script, which make up its verdict, or rules of this program. The second verdict \
is that of all rows together. A rule for which a folder does not have enough is listed as unchecked.

Examples, with RUN being a run folder of mode SubmissionRun:
  loadgen-node audit --explain TEST01
  loadgen-node audit TEST01 --print-conf --benchmark resnet50 > TEST01.conf
  loadgen-node audit TEST04 --reference RUN --test RUN
  loadgen-node audit TEST01 --reference RUN --test RUN --out /tmp/audit

Exit code 0 when both verdicts are a pass, 3 when one is not, 2 when a folder or file cannot be used, \
or a flag is of another test.";

pub(crate) const SUBMISSION: &str =
    "One TOML file says who submits what. init writes it with comments; plan, run and build read it, \
and check looks at what build made:

  submission plan FILE               lines to fill in, every run, its time, broken rules
  submission run FILE                makes the runs and their audits
  submission build FILE --out TREE   makes the folders for the official checker
  submission check TREE --file FILE  says what is wrong with such folders

run makes of each benchmark and scenario an accuracy run, a performance run and the compliance tests that the round \
asks for (division network), each in a folder of its own with submission_step.json, which says what it was made of. It \
stops at the first run that is INVALID or misses its target, and goes on there when it is called again. A run is made \
again when its settings, its command or a run before it have changed; the old folder is kept under another name.

plan asks no node. It writes the config files of the runs (user.conf, audit.config) into the folder of the runs, and \
nothing else.

rehearsal = \"10s\" in the file lowers min_duration of all runs, to try the whole way first. The least numbers of \
queries and samples stay. Rule run_duration, which every rehearsal breaks, does not count in plan; others do.

Examples:
  loadgen-node submission init submission.toml
  loadgen-node submission init asked.toml --sut 10.0.0.2:8000 --insecure

Exit code 2 when the file or a run folder cannot be used or plan finds that a run cannot be made, 3 when a run is \
INVALID, an audit fails, plan finds a broken rule, or check finds anything wrong; else that of the run that failed. \
Lines that are still to be filled in do not change the exit code of plan.";

pub(crate) const CAMPAIGN: &str = "One TOML file says what varies: every combination of its axes is a cell, and each \
cell has one run or several repeats. Each run is one of `loadgen-node run`, in a run folder of its own.

  campaign init FILE     writes a file that runs as it is, with comments
  campaign import XML    the same of a configuration of the DLI benchmark
  campaign plan FILE     the cells, and the time of all runs
  campaign doctor FILE   each machine before the start: what is known, what is not
  campaign run FILE      makes the runs; goes on where it was broken off
  campaign render FILE   a job of Slurm or Kubernetes with a task for each cell
  campaign table FILE    a row for each cell: text, CSV, JSON, Markdown, HTML

Keys of [run], [axes], [[zip]], [[case]] and [[exclude]] are the flags of `run` without dashes, settings.KEY for a \
setting, node.FLAG for a flag of `sut-node serve`, and dli.FACT for a fact of DLI's tables. With a table [node] the \
campaign starts the nodes itself, as processes on this machine, whose number is node.count, or on others (--fleet, or \
--hosts and --launch). Without it, sut names nodes that are up.

The plan is kept as campaign.json in the folder `out` before the first run. Beside each run folder stand NUMBER.json, \
which says what came of the run, and NUMBER.log. A run without a result is a row of the table, and the next run \
starts. A run that was broken off keeps its folder under another name, and is made again.

Examples:
  loadgen-node campaign init codecs.toml
  loadgen-node campaign run codecs.toml
  loadgen-node campaign render codecs.toml --for slurm
  loadgen-node campaign table codecs.toml --columns metric_rate,p99,sent
  loadgen-node campaign table codecs.toml --html table.html \\
      --x metric_rate --y p99
  loadgen-node campaign table codecs.toml --dli --html pivot.html
  loadgen-node campaign import dli.xml --out dli.toml

Exit code 2 when the file, a flag in it or a record cannot be used, 3 when a run of the campaign is not VALID or it \
stopped at its limits, 4 when doctor cannot reach a node, 5 when it was interrupted.";

const CONF: &str = "From the lowest: LoadGen's defaults, the round's built-in settings, the benchmark, \
mlperf.conf, user.conf, --mode and --set, audit.config. Config files are read exactly as the official LoadGen reads \
them; lines with another effect than their looks are warned of.

Examples:
  loadgen-node conf --benchmark resnet50 --scenario Server --user-conf user.conf
  loadgen-node conf --benchmark digits --scenario Offline \\
      --set target_qps=5000 --json
  loadgen-node conf --config-vector cases.json

Exit code 2 when a file or the settings cannot be used.";

/// The text of `conf`, with the settings that scenarios declare beside LoadGen's.
pub(crate) fn conf() -> String {
    let mut text = format!("{CONF}\n\nSettings beside LoadGen's own, for --set:");
    for SettingKey { key: name, scenario, declared, .. } in setting_keys() {
        let about = declared.zip(scenario).map(|(key, scenario)| (scenario.name(), key.about()));
        text.extend(about.map(|(scenario, about)| format!("\n  {scenario}.{name}\n      {about}")));
    }
    text
}

pub(crate) const BENCHMARK: &str = "Example:
  loadgen-node benchmark init mine.toml --sut 127.0.0.1:8000";

pub(crate) const CONFORMANCE: &str =
    "Claims the node, sends it samples that fit its own description, and prints of each rule of the contract \
(proto/README.md) whether the node keeps it, and what was seen. Takes some 15 seconds.

Examples:
  loadgen-node conformance --sut 10.0.0.2:8000 --insecure
  loadgen-node conformance --sut 127.0.0.1:8000 --transport tcp --json

Exit code 3 when a rule is broken, 4 when the node cannot be reached or is busy.";

pub(crate) const SCHEMA: &str = "Examples:
  loadgen-node schema
  loadgen-node schema --format md
  loadgen-node schema result_summary > result_summary.schema.json";

pub(crate) const COMPLETIONS: &str = "Example:
  loadgen-node completions bash > /etc/bash_completion.d/loadgen-node";

pub(crate) const MANUAL: &str = "Example:
  loadgen-node manual /usr/local/share/man/man1";

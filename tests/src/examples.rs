//! The examples in `--help` of both programs, pasted into a shell. No terminal of 80 columns breaks one in two.
//!
//! The examples are taken from what the programs print. Addresses of other hosts and folders of the system stand for
//! what a test has: see `STAND_INS`.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::chat::{Act, ChatServer, DONE, FINISH, ROLE, models, stream, text, usage};
use crate::kserve::{self, Behaviour};
use crate::process::{SutNode, binary, repository};
use crate::route::Certificates;
use crate::test_run::TestRun;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

const COLUMNS: usize = 80;

/// Longest time for an example.
const PATIENCE: Duration = Duration::from_secs(600);

/// Word in the examples that need a generated model.
pub const NEED_MODELS: &str = "decoder.onnx";
/// Word in the examples that need python3.
pub const NEED_PYTHON: &str = "python3";

/// Words of the examples, each with the words that a test uses instead.
const STAND_INS: [(&str, &str); 9] = [
    ("/tmp/compare.html", "compare.html"),
    ("/tmp/report.html", "report.html"),
    ("/tmp/report.svg", "report.svg"),
    ("/tmp/demo", "demo"),
    ("/tmp/audit", "audited"),
    ("/etc/bash_completion.d/", ""),
    ("/usr/local/share/man/", ""),
    ("0.0.0.0:8000", "0.0.0.0:0"),
    ("--tls-key n1.key", "--tls-key n1.key --listen 127.0.0.1:0"),
];

/// A configuration of the DLI benchmark.
const DLI: &str = "<Tests><Test><Model><Name>digits</Name><ModelPath>digits.onnx</ModelPath></Model><Dataset>\
    <Path>DIGITS/images.npy</Path></Dataset><FrameworkIndependent><BatchSize>1</BatchSize><IterationCount>10\
    </IterationCount></FrameworkIndependent></Test></Tests>";

/// Examples in `PROGRAM COMMAND --help`, for pasting.
#[derive(Debug, Default)]
struct Examples {
    /// Files that they read, with their content.
    files: Vec<(String, String)>,
    /// The commands, in order, each with its further lines.
    commands: Vec<String>,
}

/// Returns the help that a program prints in a terminal of 80 columns.
pub fn help(program: &str, args: &[&str]) -> String {
    let mut command = Command::new(binary(program));
    let output = command.args(args).env("COLUMNS", COLUMNS.to_string()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The commands of a program, as its help lists them.
pub fn commands(program: &str) -> Vec<String> {
    let text = help(program, &["--help"]);
    let (_, listed) = text.split_once("Commands:\n").unwrap();
    let lines = listed.lines().take_while(|line| !line.is_empty());
    // Further lines of a description stand further to the right.
    let names = lines.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

impl Examples {
    fn of(text: &str) -> Examples {
        let mut examples = Examples::default();
        let mut lines = text.lines().skip_while(|line| !line.starts_with("Example"));
        let head = lines.next().unwrap_or_default();
        // "Examples, with FILE being" or "... having": its content follows.
        let terms: Vec<&str> = head.trim_end_matches(':').split(' ').collect();
        let file = terms.windows(2).find(|pair| pair[0].ends_with(".json") && ["being", "having"].contains(&pair[1]));
        examples.files.extend(file.map(|pair| (pair[0].to_owned(), String::new())));
        let mut goes_on = false;
        for line in lines.take_while(|line| line.is_empty() || line.starts_with(' ')) {
            assert!(line.len() <= COLUMNS, "{} columns: {line}", line.len());
            let (part, further) = match line.strip_suffix('\\') {
                Some(part) => (part, true),
                None => (line, false),
            };
            match part.trim() {
                "" => {}
                part if goes_on => examples.commands.last_mut().unwrap().push_str(&format!(" {part}")),
                part if part.starts_with("loadgen-node ") || part.starts_with("sut-node ") => {
                    examples.commands.push(part.to_owned());
                }
                part => match examples.files.last_mut().filter(|_| examples.commands.is_empty()) {
                    Some((_, content)) => content.push_str(part),
                    None => panic!("a command was broken in two before: {line}"),
                },
            }
            goes_on = further;
        }
        examples
    }
}

/// Environment of the examples: nodes, servers, files and a run folder.
struct Setup {
    folder: TempDir,
    stand_ins: Vec<(String, String)>,
    _nodes: Vec<SutNode>,
    _servers: Vec<kserve::Server>,
    _chat: ChatServer,
}

impl Setup {
    fn new() -> Setup {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let certificates = Certificates::new();
        for (flag, name) in [("--tls-cert", "n1.pem"), ("--tls-key", "n1.key")] {
            let args = certificates.server_args();
            let index = args.iter().position(|arg| *arg == flag).unwrap();
            fs::copy(args[index + 1], at(name)).unwrap();
        }
        fs::copy(certificates.trusted()[1], at("ca.pem")).unwrap();
        let digits = format!("onnx:{}", repository("loadgen-node/qsl/digits/digits.onnx").display());
        fs::copy(repository("loadgen-node/qsl/digits/digits.onnx"), at("digits.onnx")).unwrap();
        fs::create_dir(at("DIGITS")).unwrap();
        for name in ["SHA256SUMS", "images.npy", "labels.npy"] {
            fs::copy(repository("loadgen-node/qsl/digits").join(name), at("DIGITS").join(name)).unwrap();
        }
        let plain = ["N1", "N2"].map(|name| SutNode::start(name, &digits, &[]));
        let secure = SutNode::start("N3", &digits, &certificates.server_args());
        let any = SutNode::start("N4", "null", &certificates.server_args());
        fs::create_dir(at("results")).unwrap();
        fs::write(at("token"), "a-token-of-these-nodes").unwrap();
        fs::set_permissions(at("token"), fs::Permissions::from_mode(0o600)).unwrap();
        let token = ["--token-file", at("token").to_str().unwrap()].map(str::to_owned);
        let [flag, file] = token.each_ref().map(String::as_str);
        let second = SutNode::start("N6", "null", &[flag, file]);
        let first = SutNode::start("N5", "null", &[flag, file, "--probe-peers", &second.address]);
        // Only where there are generated models is it asked for.
        if let Some(models) = std::env::var_os("LON_TEST_MODELS") {
            fs::copy(Path::new(&models).join("decoder.onnx"), at("decoder.onnx")).unwrap();
        }
        fs::write(at("nodes.txt"), format!("{}\n", secure.address)).unwrap();
        fs::write(at("score.py"), "print('{\"top1\": 99.5}')\n").unwrap();
        fs::write(at("user.conf"), "resnet50.Server.target_qps = 100\n").unwrap();
        let case = r#"[{"name": "one", "conf_text": "", "model": "m", "scenario": "Server", "conf_type": 1}]"#;
        fs::write(at("cases.json"), case).unwrap();
        fs::write(at("dli.xml"), DLI).unwrap();
        let recorded = fs::read_to_string(repository("loadgen-node/engine/tests/data/v05/config.jsonl")).unwrap();
        fs::write(at("case.json"), recorded.lines().next().unwrap()).unwrap();
        let run = TestRun::digits("Server").on(&plain[0].address).args(&["--mode", "SubmissionRun"]);
        let (finished, run_folder) = run.set("target_qps=1000,min_duration=1s").finish();
        assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
        fs::rename(&run_folder.path, at("RUN")).unwrap();
        // Its logs have the official form, but for the marks.
        fs::create_dir(at("OFFICIAL")).unwrap();
        for file in ["mlperf_log_summary.txt", "mlperf_log_detail.txt", "mlperf_log_accuracy.json"] {
            let text = fs::read_to_string(at("RUN").join(file)).unwrap();
            let lines = text.split_inclusive('\n').filter(|line| !line.starts_with("Division"));
            fs::write(at("OFFICIAL").join(file), lines.collect::<String>()).unwrap();
        }
        // On a node of its own, which may wait for it for a while.
        let alone = SutNode::start("N0", &digits, &[]);
        let (killed, killed_folder) = TestRun::digits("Offline").on(&alone.address).set("min_duration=60s").begin();
        let start = Instant::now();
        while !killed_folder.path.join("result_summary.json").exists() && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(10));
        }
        killed.signal(Signal::SIGKILL);
        assert_eq!(killed.finish().code, None);
        fs::rename(&killed_folder.path, at("left")).unwrap();
        drop(alone);
        let inputs = vec![kserve::tensor("x", "UINT8", &[-1, 1, 8, 8])];
        let behaviour = Behaviour { model: "digits".to_owned(), inputs, ..Behaviour::good() };
        let servers = [kserve::Server::start(behaviour.clone()), kserve::Server::start(behaviour)];
        let answer = [ROLE, &text("hello"), FINISH, &usage(1), DONE].map(str::to_owned);
        let chat = ChatServer::raw(move |request| {
            let is_list = request.head.starts_with("GET");
            let events = answer.each_ref().map(String::as_str);
            vec![Act::Send(if is_list { models(&["MODEL"]) } else { stream(&events) })]
        });
        let port = any.address.rsplit_once(':').unwrap().1;
        let mut stand_ins: Vec<(String, String)> =
            STAND_INS.iter().map(|(placeholder, used)| (placeholder.to_string(), used.to_string())).collect();
        stand_ins.extend([
            ("10.0.0.2:8000".to_owned(), plain[0].address.clone()),
            ("10.0.0.3:8000".to_owned(), plain[1].address.clone()),
            ("10.0.0.4:8000".to_owned(), first.address.clone()),
            ("10.0.0.5:8000".to_owned(), second.address.clone()),
            ("10.0.0.2:8001".to_owned(), servers[0].address.to_string()),
            ("10.0.0.3:8001".to_owned(), servers[1].address.to_string()),
            ("healthcheck --address 127.0.0.1:8000".to_owned(), format!("healthcheck --address {}", plain[0].address)),
            ("127.0.0.1:8000".to_owned(), plain[0].address.clone()),
            ("dns:sut:8000".to_owned(), format!("dns:localhost:{port}")),
            ("127.0.0.1:8080".to_owned(), chat.address.clone()),
            ("127.0.0.1:8001".to_owned(), "127.0.0.1:0".to_owned()),
            ("127.0.0.1:8002".to_owned(), "127.0.0.1:0".to_owned()),
        ]);
        let nodes = plain.into_iter().chain([secure, any, first, second]).collect();
        Setup { folder, stand_ins, _nodes: nodes, _servers: servers.into(), _chat: chat }
    }

    /// Runs a command as a shell does; those that serve or watch are told to end once they do.
    fn paste(&self, command: &str) {
        // Such a folder can be recovered once, and a demo writes into none that is there.
        let demo = if command.starts_with("loadgen-node demo") { "true" } else { "cp -r RUN demo" };
        let fresh = format!("rm -rf KILLED demo && cp -r left KILLED && {demo}");
        assert!(Command::new("sh").args(["-c", &fresh]).current_dir(self.folder.path()).status().unwrap().success());
        let mut line = command.to_owned();
        for (placeholder, used) in &self.stand_ins {
            line = line.replace(placeholder, used);
        }
        let programs = binary("sut-node");
        let path = format!("{}:{}", programs.parent().unwrap().display(), std::env::var("PATH").unwrap());
        let watches = line.contains(" --watch ");
        let serves = line.starts_with("sut-node serve ") || watches;
        let begins = if watches { "Z  up " } else { " serving " };
        // A shell that serves becomes the node, so that the signal reaches it.
        let line = if serves { format!("exec {line}") } else { line };
        let out = self.folder.path().join("said");
        let output = fs::File::create(&out).unwrap();
        let mut shell = Command::new("bash");
        shell.args(["-c", &line]).current_dir(self.folder.path()).env("PATH", path).stdin(Stdio::null());
        if !watches && !line.contains(" --link-rate ") {
            // A tenth of what a probe takes unless told. A watch and arithmetic have no duration.
            shell.env("LON_PROBE_DURATION", "200ms");
        }
        let mut child = shell.stdout(output.try_clone().unwrap()).stderr(output).spawn().unwrap();
        let read = || fs::read_to_string(&out).unwrap_or_default();
        let start_time = Instant::now();
        let mut is_signalled = false;
        let code = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status.code();
            }
            if serves && !is_signalled && read().contains(begins) {
                kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap();
                is_signalled = true;
            }
            if start_time.elapsed() > PATIENCE {
                let _ = child.kill();
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        // A run may be INVALID on a machine that is busy with other tests, also when it is replayed, and a fabric not
        // what it was. An audit of a run against itself fails.
        let may_be_late = [
            "loadgen-node run ",
            "loadgen-node audit ",
            "loadgen-node demo",
            "loadgen-node campaign run ",
            "loadgen-node conformance ",
            "loadgen-node replay ",
        ];
        let is_judged = [" --against ", " --require "].iter().any(|flag| line.contains(flag));
        let is_run = may_be_late.iter().any(|start| line.starts_with(start)) || is_judged;
        let is_undecided = line.contains(" --against ") && code == Some(2);
        let is_fine = code == Some(0) || (is_run && code == Some(3)) || is_undecided;
        assert!(is_fine && serves == is_signalled, "'{command}' ended with {code:?}: {line}\n{}", read());
    }
}

fn write(folder: &Path, files: &[(String, String)]) {
    files.iter().for_each(|(name, content)| fs::write(folder.join(name), content).unwrap());
}

/// Commands whose examples are pasted at one time: most of them wait for a run to end.
const AT_ONCE: usize = 2;

/// Pastes all examples of a program that are wanted, each once; how many there were. Those of one command follow each
/// other in one setup, as one may read what another has written.
pub fn paste_all(program: &str, predicate: impl Fn(&str) -> bool + Sync) -> usize {
    let queue = Mutex::new(commands(program));
    let pasted = Mutex::new(BTreeSet::new());
    let paste_some = || {
        let setup = Setup::new();
        while let Some(command) = { queue.lock().unwrap().pop() } {
            // The short help may have others.
            let [short, long] = ["-h", "--help"].map(|flag| Examples::of(&help(program, &[&command, flag])));
            assert!(!long.commands.is_empty(), "{program} {command} --help has no example");
            write(setup.folder.path(), &long.files);
            for example in [short.commands, long.commands].concat().into_iter().filter(|example| predicate(example)) {
                let is_new = pasted.lock().unwrap().insert(example.clone());
                if is_new {
                    setup.paste(&example);
                }
            }
        }
    };
    std::thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(paste_some))));
    pasted.into_inner().unwrap().len()
}

//! Mistakes that people make, each with its exit code and what the one line of the error must say: what is wrong, by
//! name, and what to do.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;

use lon_tests::kserve;
use lon_tests::process::{Closed, LoadGen, SutNode, binary, repository};
use sha2::{Digest as _, Sha256};

/// Words of `run` before the mistake; `RUN` in a row stands for them.
const RUN: &str = "run --sut {node} --benchmark digits --scenario Server";

/// The same without nodes.
const TO: &str = "run --benchmark digits --scenario Server --sut";

/// Command lines, each with its exit code and parts of its error. `{node}` is a node of the digits, `{free}` a port
/// where nobody listens, and `{http}` a server of HTTP/1. `{triton}` is a server of KServe's protocol, and `{in}` a
/// folder of files that do not fit.
const LOADGEN: [(&str, i32, &[&str]); 42] = [
    // Where the nodes are.
    ("TO {free}", 4, &["{free}", "Connection refused", "sut-node serve", "--wait-ready"]),
    ("probe --sut {free}", 4, &["{free}", "sut-node serve"]),
    ("TO {http}", 4, &["{http}", "does not speak HTTP/2", "no SUT node"]),
    ("TO {triton}", 4, &["{triton} is no SUT node", "--transport kserve --sut NAME={triton} --model MODEL"]),
    ("TO a={node} --transport kserve --model m", 4, &["KServe's protocol", "without --transport kserve"]),
    ("TO {triton} --transport kserve --model m", 2, &["has no name", "NAME=host:port"]),
    ("TO {node},{node}", 2, &["{node} is listed twice"]),
    ("TO http://a", 2, &["--sut", "http://a"]),
    ("TO 192.0.2.1:8000", 2, &["192.0.2.1:8000 is another host", "--tls-ca", "--insecure"]),
    ("RUN --tls-ca {in}/missing", 2, &["{in}/missing", "--tls-ca"]),
    ("RUN --tls-ca {in}/text", 2, &["{in}/text", "BEGIN CERTIFICATE"]),
    ("RUN --token-file {in}/missing", 2, &["{in}/missing", "--token-file"]),
    ("RUN --transport udp", 2, &["udp", "grpc, tcp, quic, kserve"]),
    ("RUN --connections 0", 2, &["--connections", "from 1 to 256"]),
    // Benchmark, scenario, mode and other settings of the run.
    ("run --sut a:1 --benchmark digits --scenario Servr", 2, &["Servr", "did you mean Server", "MultiStream"]),
    ("run --sut a:1 --benchmark digitz --scenario Server", 2, &["digitz", "digits"]),
    ("run --sut a:1 --benchmark {in}/bench.toml --scenario Server", 2, &["{in}/bench.toml", "nane"]),
    ("run --sut a:1 --benchmark synthetic --scenario Server", 2, &["--dataset"]),
    ("run --sut {node} --benchmark digits --scenario Offline --mode FindPeakPerformance", 2, &["Offline"]),
    ("RUN --mode Fast", 2, &["Fast", "PerformanceOnly"]),
    ("RUN --nonsense", 2, &["--nonsense"]),
    ("RUN --mode FindPeakPerformance --find-peak-max-trials 0", 2, &["--find-peak-max-trials", "1.."]),
    // Samples and labels.
    ("RUN --dataset {in}/missing", 2, &["{in}/missing", "images.npy"]),
    ("RUN --dataset synthetic:u8[64]", 2, &["synthetic:u8[64]", "xCOUNT"]),
    ("RUN --dataset synthetic:u8[64]x5", 2, &["the sample is u8[64]", "the model takes image u8[N,1,8,8]"]),
    (
        "RUN --mode AccuracyOnly --dataset {in}/labels",
        2,
        &["the label of sample 1 is 12", "10 classes, numbered 0 to 9"],
    ),
    ("RUN --compression original", 2, &["--compression original", "a folder of JPEGs is"]),
    ("RUN --compression zstd:99", 2, &["99", "1 to 19"]),
    // Settings.
    ("RUN --set target_qsp=5", 2, &["target_qsp", "did you mean 'target_qps'"]),
    ("RUN --set target_qps=fast", 2, &["target_qps", "fast"]),
    ("RUN --set target_qps=-1", 2, &["target_qps", "above 0"]),
    ("RUN --set target_qps=0", 2, &["target_qps"]),
    ("RUN --set Sever.target_qps=5", 2, &["Sever"]),
    ("RUN --set samples_per_query=5", 2, &["samples_per_query", "Server"]),
    ("RUN --set target_latency_percentile=0.99", 2, &["percent: 99, not 0.99"]),
    ("RUN --set min_duration=5x", 2, &["min_duration", "5x"]),
    ("RUN --user-conf {in}/missing", 2, &["{in}/missing"]),
    ("RUN --user-conf {in}/user.conf", 2, &["{in}/user.conf:1", "'fast' is not"]),
    ("RUN --max-lag -1ms", 2, &["--max-lag", "not negative"]),
    ("RUN --response-timeout 5", 2, &["--response-timeout", "unit"]),
    // Folders.
    ("RUN --out {in}", 2, &["{in} exists already and is not empty"]),
    ("RUN --out /proc/nothing", 2, &["/proc/nothing"]),
];

/// The same of the other commands, which need no node.
const FILES: [(&str, i32, &[&str]); 10] = [
    ("list --results {in}", 2, &["the folder is an argument"]),
    ("conf --benchmark digits --scenario Server --rules v7.0", 2, &["did you mean v6.1?"]),
    ("accuracy {in}", 2, &["{in} is not a run folder"]),
    ("show {in}", 2, &["{in} is not a run folder"]),
    ("recover {in}", 2, &["{in} is not a run folder"]),
    ("replay", 2, &["--timeline <PATH>|--official <DIR>|--report-vector <FILE.json>"]),
    ("replay --official {in}", 2, &["{in} has no mlperf_log_detail.txt"]),
    ("replay --official {in} --timeline {in}/text", 2, &["--official <DIR>", "--timeline <PATH>"]),
    ("replay --timeline {in}/text", 2, &["{in}/text", "not a timeline"]),
    ("trace --settings {in}/missing", 2, &["{in}/missing"]),
];

/// The same of `sut-node`.
const SUT: [(&str, i32, &[&str]); 9] = [
    ("serve --listen 20011 --backend null", 2, &["20011", "write HOST:PORT", "0.0.0.0:20011"]),
    ("serve --listen localhost --backend null", 2, &["write HOST:PORT", "localhost:8000"]),
    ("serve --listen {node} --backend null", 2, &["{node} (--listen)", "in use"]),
    ("serve --listen 127.0.0.1:0 --backend onx:a", 2, &["'onx:a' is not a backend", "onnx:MODEL.onnx", "null"]),
    ("serve --listen 127.0.0.1:0 --backend onnx:{in}/missing", 2, &["{in}/missing"]),
    ("serve --listen 127.0.0.1:0 --backend onnx:{in}/text", 2, &["{in}/text", "it is not an ONNX model"]),
    ("serve --listen 127.0.0.1:0 --backend null --node a,b", 2, &["'a,b' cannot be a node name", "without comma"]),
    ("serve --listen 127.0.0.1:0 --backend null --tls-cert x", 2, &["--tls-cert needs --tls-key"]),
    ("healthcheck --address {free}", 1, &["{free}", "Connection refused"]),
];

/// Values of the words in braces, with the nodes and files behind them.
struct Stage {
    names: Vec<(&'static str, String)>,
    _node: SutNode,
    _triton: kserve::Server,
    _closed: Closed,
    _files: tempfile::TempDir,
}

impl Stage {
    fn new() -> Stage {
        let files = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(files.path().join(name), text).unwrap();
        write("text", "no model, certificate or timeline");
        write("bench.toml", "schema = 1\nnane = \"x\"\n");
        write("user.conf", "*.Server.target_qps = fast\n");
        digits_with_a_label_too_many(&files.path().join("labels"));
        let model = repository("loadgen-node/qsl/digits/digits.onnx");
        let node = SutNode::start("a", &format!("onnx:{}", model.display()), &[]);
        let triton = kserve::Server::start(kserve::Behaviour::good());
        let closed = Closed::new();
        let names = vec![
            ("{node}", node.address.clone()),
            ("{free}", closed.address.clone()),
            ("{http}", http1()),
            ("{triton}", triton.address.to_string()),
            ("{in}", files.path().display().to_string()),
        ];
        Stage { names, _node: node, _triton: triton, _closed: closed, _files: files }
    }

    fn filled(&self, text: &str) -> String {
        self.names.iter().fold(text.replace("RUN", RUN).replace("TO ", &format!("{TO} ")), |text, (name, value)| {
            text.replace(name, value)
        })
    }

    /// One word for each mistake that is not answered as the table says.
    fn poor(&self, table: &[(&str, i32, &[&str])], run: impl Fn(&[&str]) -> (Option<i32>, String)) -> Vec<String> {
        let mut poor = Vec::new();
        for (typed, code, parts) in table {
            let args = self.filled(typed);
            let args: Vec<&str> = args.split(' ').collect();
            let (ended, output) = run(&args);
            let missing: Vec<String> =
                parts.iter().map(|part| self.filled(part)).filter(|part| !output.contains(part)).collect();
            if ended != Some(*code) || !missing.is_empty() {
                poor.push(format!(
                    "{typed}\n  exit code {ended:?}, wanted {code}; not said: {missing:?}; said: {output}"
                ));
            }
        }
        poor
    }
}

/// The digits with a second label that their model does not have.
fn digits_with_a_label_too_many(folder: &std::path::Path) {
    fs::create_dir(folder).unwrap();
    for name in ["images.npy", "labels.npy"] {
        fs::copy(repository("loadgen-node/qsl/digits").join(name), folder.join(name)).unwrap();
    }
    let labels = folder.join("labels.npy");
    let mut bytes = fs::read(&labels).unwrap();
    let header = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let wide = if String::from_utf8_lossy(&bytes[..header]).contains("i8") { 8 } else { 4 };
    bytes[header + wide] = 12;
    fs::write(labels, bytes).unwrap();
    let line = |name: &str| format!("{}  {name}\n", hex::encode(Sha256::digest(fs::read(folder.join(name)).unwrap())));
    fs::write(folder.join("SHA256SUMS"), ["images.npy", "labels.npy"].map(line).concat()).unwrap();
}

/// The address of a server that answers everything in HTTP/1, for as long as the test goes on.
fn http1() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 512]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
            // The connection stays open: after a close at once the answer would be lost at times.
            open.push(stream);
        }
    });
    address
}

#[test]
fn every_mistake_is_named_with_what_to_do() {
    let stage = Stage::new();
    let loadgen = |args: &[&str]| {
        let finished = LoadGen::run(args);
        (finished.code, finished.stderr)
    };
    let sut = |args: &[&str]| {
        let output = Command::new(binary("sut-node")).args(args).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let poor: Vec<String> = [(&LOADGEN[..]), (&FILES[..])]
        .into_iter()
        .flat_map(|table| stage.poor(table, loadgen))
        .chain(stage.poor(&SUT, sut))
        .collect();
    assert!(poor.is_empty(), "{}", poor.join("\n"));
}

//! The dashboard in a real terminal: tmux has one of any size, and shows what is on it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use lon_tests::process::{SutNode, binary};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// Longest time for a screen to show what is expected.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal of its own, with a shell in it. It goes away with this.
struct Terminal {
    folder: TempDir,
}

impl Terminal {
    fn new((columns, rows): (u16, u16)) -> Terminal {
        let terminal = Terminal { folder: tempfile::tempdir().unwrap() };
        let size = [columns.to_string(), rows.to_string()];
        let shell = ["env", "PS1=ready> ", "sh"];
        terminal
            .tmux(&[&["-f", "/dev/null", "new-session", "-d", "-x", &size[0], "-y", &size[1]], &shell[..]].concat());
        terminal.wait_for("ready>");
        terminal
    }

    fn tmux(&self, args: &[&str]) -> String {
        let socket = self.folder.path().join("socket");
        let mut command = Command::new("tmux");
        command
            .arg("-S")
            .arg(&socket)
            .args(args)
            .env_remove("TMUX")
            .env("TERM", "xterm-256color")
            .env("LC_ALL", "C.UTF-8");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Starts a run of ten minutes.
    fn run(&self, sut: &str, more: &str) {
        self.run_test(&format!(
            "--sut {sut} --benchmark synthetic --dataset 'synthetic:u8[64]x64' --scenario Server \
             --set target_qps=50,min_duration=600s,target_latency=60000 --max-lag 60s {more}"
        ));
    }

    /// Starts a test with these flags.
    fn run_test(&self, flags: &str) {
        let (program, out) = (binary("loadgen-node"), self.out());
        let command = format!("{} run {flags} --out {}; echo ended $?", program.display(), out.display());
        self.tmux(&["send-keys", "-l", &command]);
        self.key("Enter");
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    fn key(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-J"])
    }

    /// Returns true when the program has the terminal to itself.
    fn is_taken(&self) -> bool {
        self.tmux(&["display-message", "-p", "#{alternate_on}"]).trim() == "1"
    }

    fn wait_for(&self, text: &str) -> String {
        self.wait(text, || self.screen())
    }

    /// Waits for a text that may have left the screen by then.
    fn wait_for_line(&self, text: &str) {
        self.wait(text, || self.tmux(&["capture-pane", "-p", "-J", "-S", "-"]));
    }

    fn wait(&self, text: &str, look: impl Fn() -> String) -> String {
        let start = Instant::now();
        loop {
            let screen = look();
            if screen.contains(text) {
                return screen;
            }
            assert!(start.elapsed() < PATIENCE, "no '{text}' in:\n{screen}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The process of the run.
    fn pid(&self) -> Pid {
        let shell = self.tmux(&["display-message", "-p", "#{pane_pid}"]);
        let children = format!("/proc/{0}/task/{0}/children", shell.trim());
        let pid = fs::read_to_string(children).unwrap();
        Pid::from_raw(pid.split_whitespace().next().unwrap().parse().unwrap())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

fn node() -> SutNode {
    SutNode::start("a-node", "null", &[])
}

/// The run was interrupted, everything is written, and the terminal is as it was.
fn assert_stopped(terminal: &Terminal) {
    terminal.wait_for("ended 5");
    assert!(!terminal.is_taken());
    let summary = fs::read_to_string(terminal.out().join("result_summary.json")).unwrap();
    assert!(summary.contains("\"interrupted\""), "{summary}");
    // The terminal shows typed text again.
    terminal.tmux(&["send-keys", "-l", "echo it is $((40 + 2))"]);
    terminal.wait_for("echo it is $((40 + 2))");
    terminal.key("Enter");
    terminal.wait_for("it is 42");
}

fn is_whole(screen: &str, rows: usize) {
    for part in ["synthetic Server", "performance", "p99 latency", "verdict so far", "a-node", "log", "q stop"] {
        assert!(screen.contains(part), "no '{part}' in:\n{screen}");
    }
    let last = screen.lines().filter(|line| !line.is_empty()).count();
    assert!(last <= rows && screen.lines().nth(rows - 1).is_some_and(|line| line.contains("q stop")), "{screen}");
}

#[test]
#[ignore = ".ci/run programs"]
fn a_run_is_shown_and_keys_are_taken_in_a_small_terminal_and_a_large_one() {
    let node = node();
    for (columns, rows) in [(80, 24), (200, 60)] {
        let terminal = Terminal::new((columns, rows));
        terminal.run(&node.address, "--ui dashboard");
        // Something has been answered, and was read.
        let screen = terminal.wait_for("✓ p99 latency");
        assert!(terminal.is_taken());
        is_whole(&screen, usize::from(rows));
        terminal.key("h");
        terminal.wait_for("stop the run, after a question");
        terminal.key("h");
        terminal.key("-");
        terminal.wait_for("last 5 min");
        terminal.key("q");
        terminal.wait_for("Stop the run?");
        terminal.key("n");
        terminal.wait_for("q stop");
        terminal.key("q");
        terminal.wait_for("Stop the run?");
        terminal.key("y");
        assert_stopped(&terminal);
    }
}

#[test]
#[ignore = ".ci/run programs"]
fn signals_and_control_c_leave_the_terminal_as_it_was() {
    let node = node();
    for signal in [Some(Signal::SIGTERM), Some(Signal::SIGINT), None] {
        let terminal = Terminal::new((80, 24));
        terminal.run(&node.address, "--ui dashboard");
        terminal.wait_for("✓ p99 latency");
        match signal {
            Some(signal) => kill(terminal.pid(), signal).unwrap(),
            None => terminal.key("C-c"),
        }
        assert_stopped(&terminal);
    }
}

#[test]
#[ignore = ".ci/run programs"]
fn the_line_is_shown_where_the_terminal_is_too_small_or_the_dashboard_is_left() {
    let node = node();
    let small = Terminal::new((50, 14));
    small.run(&node.address, "--ui dashboard");
    small.wait_for_line("60 and 16 are");
    assert!(!small.is_taken());
    small.key("C-c");
    small.wait_for("ended 5");
    let terminal = Terminal::new((120, 24));
    terminal.run(&node.address, "--ui dashboard");
    terminal.wait_for("✓ p99 latency");
    terminal.key("l");
    terminal.wait_for("s left");
    assert!(!terminal.is_taken());
    terminal.key("C-c");
    terminal.wait_for("ended 5");
}

#[test]
#[ignore = ".ci/run programs"]
fn tenants_are_shown_beside_each_other_and_one_by_one() {
    let node = SutNode::start("a-node", "null=null", &["--backend", "slow=synthetic:constant=1ms"]);
    let terminal = Terminal::new((120, 30));
    let file = terminal.folder.path().join("mix.toml");
    let tenant = |name: &str, model: &str| {
        format!(
            "[[tenant]]\nname = \"{name}\"\nmodel = \"{model}\"\nbenchmark = \"synthetic\"\n\
             dataset = \"synthetic:u8[64]x64\"\nscenario = \"Server\"\n\
             settings = {{ target_qps = 50, min_duration = \"600s\", target_latency = \"60s\" }}\n"
        )
    };
    fs::write(&file, tenant("vision", "null") + &tenant("chat", "slow")).unwrap();
    let flags = format!("--mix {} --sut {} --max-lag 60s --ui dashboard", file.display(), node.address);
    terminal.run_test(&flags);
    let screen = terminal.wait_for("2 tenants");
    for part in ["vision", "chat", "in flight", "tab next tenant", "log"] {
        assert!(screen.contains(part), "no '{part}' in:\n{screen}");
    }
    assert!(terminal.is_taken());
    terminal.key("2");
    terminal.wait_for("chat: synthetic Server");
    terminal.wait_for("✓ p99 latency");
    terminal.key("BTab");
    terminal.wait_for("vision: synthetic Server");
    terminal.key("0");
    terminal.wait_for("2 tenants");
    terminal.key("l");
    terminal.wait_for("chat: synthetic Server [");
    assert!(!terminal.is_taken());
    terminal.key("C-c");
    terminal.wait_for("ended 5");
    for name in ["vision", "chat"] {
        let summary = fs::read_to_string(terminal.out().join(name).join("result_summary.json")).unwrap();
        assert!(summary.contains("\"interrupted\""), "{summary}");
    }
}

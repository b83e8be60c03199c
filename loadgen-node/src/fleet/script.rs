//! The lines for the shells of the hosts: POSIX sh, and `/proc` as Linux has it. What comes from the file is quoted.
//!
//! A line has no line break, no backslash, no `^`, no `!`, and single quotes around values alone: a login shell that is
//! no POSIX shell hands it on to `sh -c` as it is.
//!
//! A process is known by its id, the time at which it started and the id of the boot. All three are in its pid file: an
//! id that the kernel has given to another process since then is not taken for the node.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use shlex::{QuoteError, try_join, try_quote};

use super::checked::Node;
use super::file_copy::CopiedFile;

/// Prints when a process started, in ticks since the boot; nothing where there is none, or it has ended.
const BORN: &str = "born() { sed \"s/.*) //\" \"/proc/$1/stat\" 2>/dev/null | cut -d \" \" -f 1,20 | \
                    grep -v \"[ZX] \" | cut -d \" \" -f 2; }; ";
/// The system that the programs are made for, and whose `/proc` is read, as `uname -s` names it.
pub(super) const NEEDED_SYSTEM: &str = "Linux";
/// The file that names the boot.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";
/// The answer of a host that has a file with the wanted content.
pub(super) const SAME: &str = "same";
/// Lines of a log that are shown where a node does not start.
const LOG_LINES: usize = 12;

/// Prints the host's system and facts of a node: its process, its port, and with `program` the program's version.
pub(super) fn facts(node: &Node, program: Option<&str>) -> Result<String, QuoteError> {
    let (ours, taken) = (ours(node)?, taken(&node.listen));
    let version = match program {
        Some(program) => {
            let program = try_quote(program)?;
            format!(
                "; if command -v {program} >/dev/null 2>&1; then echo \"version $({program} --version 2>&1 | \
                 head -n 1)\"; else echo \"version none\"; fi"
            )
        }
        None => String::new(),
    };
    Ok(format!(
        "echo \"system $(uname -s 2>/dev/null)\"; {ours}if ours; then echo \"pid $p\"; fi; \
         if {taken}; then echo \"port taken\"; else echo \"port free\"; fi{version}"
    ))
}

/// Answers each line with the host's time.
pub(super) fn clock() -> String {
    "while read -r x; do date +%s%N; done".to_owned()
}

/// Starts the node, unless it runs or its port is taken, or the system is not the one that is needed. Its process has a
/// session of its own where there is `setsid`.
///
/// Of two starts at once the second waits for the first where there is `flock`: the log is locked until the first line
/// ends. The node does not inherit the lock.
///
/// The process writes its own pid file and becomes the program after that: wherever the connection breaks, no program
/// runs that is not in the file. It tells its id through a pipe, which closes when it becomes the program. So the line
/// waits for the file; and where nobody is left to read the pipe, the program is not started.
pub(super) fn start(node: &Node) -> Result<String, QuoteError> {
    let (ours, taken, command) = (ours(node)?, taken(&node.listen), joined(&node.command)?);
    let (folder, log, pid) = (try_quote(&node.folder)?, node.log(), node.pid());
    let (log, pid) = (try_quote(&log)?, try_quote(&pid)?);
    // `$$` would be the id of the shell that this process was made by. The file is read again, as a stop will read it.
    let itself = format!(
        "read -r p k </proc/self/stat && b=$(born \"$p\") && k=$(cat {BOOT}) && echo \"$p $b $k\" >{pid} && ours"
    );
    Ok(format!(
        "s=$(uname -s 2>/dev/null); [ \"$s\" = {NEEDED_SYSTEM} ] || {{ echo \"system $s\"; exit 0; }}; \
         mkdir -p {folder} && : >>{log} || exit 1; exec 9>>{log}; \
         if command -v flock >/dev/null 2>&1; then flock 9 || exit 1; fi; \
         {ours}if ours; then echo \"running $p\"; exit 0; fi; if {taken}; then echo taken; exit 0; fi; \
         at=$(wc -c <{log}); set -- {command}; \
         if command -v setsid >/dev/null 2>&1; then set -- setsid \"$@\"; fi; \
         p=$( {{ {itself} && echo \"$p\" && exec nohup \"$@\" >>{log} 2>&1 9>&-; }} </dev/null & ); \
         [ -n \"$p\" ] || exit 1; echo \"started $p $((at + 0))\""
    ))
}

/// Prints the process of the node if it runs, and its log from this byte on, counted from 0.
pub(super) fn started(node: &Node, from: u64) -> Result<String, QuoteError> {
    let (ours, log) = (ours(node)?, node.log());
    let log = try_quote(&log)?;
    Ok(format!(
        "{ours}if ours; then echo \"pid $p\"; fi; tail -c +{} {log} | tail -n {LOG_LINES} | sed \"s/.*/log &/\"",
        from.saturating_add(1)
    ))
}

/// Asks the node to end, and waits. No other process is sent a signal.
pub(super) fn stop(node: &Node, wait: Duration) -> Result<String, QuoteError> {
    let (ours, pid) = (ours(node)?, node.pid());
    let (pid, wait_s) = (try_quote(&pid)?, wait.as_secs().max(1));
    Ok(format!(
        "{ours}if ours; then :; else rm -f {pid}; echo none; exit 0; fi; kill \"$p\" || exit 1; \
         end=$(($(date +%s) + {wait_s})); while ours; do \
         if [ \"$(date +%s)\" -ge \"$end\" ]; then echo \"still $p\"; exit 0; fi; \
         sleep 0.1 2>/dev/null || sleep 1; done; rm -f {pid}; echo \"ended $p\""
    ))
}

/// Says whether the host has a file with this content.
pub(super) fn has(node: &Node, copied: &CopiedFile) -> Result<String, QuoteError> {
    let file = node.copy(copied);
    let file = try_quote(&file)?;
    Ok(format!("if {}; then echo {SAME}; else echo other; fi", has_sum(&file, &copied.sha256)))
}

/// Keeps what is read as a file, once its content is known to be right.
pub(super) fn copy(node: &Node, copied: &CopiedFile) -> Result<String, QuoteError> {
    let file = node.copy(copied);
    let part = format!("{file}.{}", node.stem);
    let folder = file.rsplit_once('/').map_or(".", |(folder, _)| folder);
    let (folder, file, part) = (try_quote(folder)?, try_quote(&file)?, try_quote(&part)?);
    Ok(format!(
        "mkdir -p {folder} && cat >{part} || exit 1; if {}; then mv {part} {file}; else rm -f {part}; \
         echo \"the copy has another checksum\" >&2; exit 1; fi",
        has_sum(&part, &copied.sha256)
    ))
}

/// Checks the SHA-256 of a file, whose name is quoted.
fn has_sum(file: &str, sha256: &str) -> String {
    format!("[ \"$(sha256sum {file} 2>/dev/null | cut -d \" \" -f 1)\" = {sha256} ]")
}

/// Prints the node's log.
pub(super) fn log(node: &Node) -> Result<String, QuoteError> {
    let log = node.log();
    let log = try_quote(&log)?;
    Ok(format!("if [ -r {log} ]; then cat {log}; else echo \"there is no log of it:\" {log} >&2; exit 1; fi"))
}

/// `ours`: whether the process of the pid file runs; `p` is its id then.
fn ours(node: &Node) -> Result<String, QuoteError> {
    let pid = node.pid();
    let pid = try_quote(&pid)?;
    Ok(format!(
        "{BORN}ours() {{ [ -r {pid} ] && read -r p b k <{pid} && [ -n \"$b\" ] && [ \"$(born \"$p\")\" = \"$b\" ] && \
         [ \"$(cat {BOOT})\" = \"$k\" ]; }}; "
    ))
}

/// Checks for a TCP listener where the node would listen.
fn taken(listen: &str) -> String {
    format!("grep -Eq \"{}\" /proc/net/tcp /proc/net/tcp6 2>/dev/null", listening(listen))
}

/// The lines of `/proc/net/tcp` and `tcp6` with a listener in the way of this one: at its own address or at all.
/// Addresses stand there as words of 32 bits in the byte order of the machine, which is taken to be that of this one.
fn listening(listen: &str) -> String {
    let word = |bytes: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(bytes));
    let none = "0".repeat(8);
    let addresses = match listen.parse::<SocketAddr>().map(|listen| listen.ip()) {
        Ok(IpAddr::V4(ip)) if !ip.is_unspecified() => {
            let (own, mapped) = (word(ip.octets()), word([0, 0, 0xff, 0xff]));
            format!("({own}|{none}|{}|{none}{none}{mapped}{own})", none.repeat(4))
        }
        Ok(IpAddr::V6(ip)) if !ip.is_unspecified() => {
            let octets = ip.octets();
            let parts = octets.chunks_exact(4).map(|part| word([part[0], part[1], part[2], part[3]]));
            format!("({}|{})", parts.collect::<String>(), none.repeat(4))
        }
        _ => "[0-9A-F]+".to_owned(),
    };
    let port = listen.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok()).unwrap_or_default();
    format!(": {addresses}:{port:04X} [0-9A-F]+:[0-9A-F]+ 0A ")
}

/// Words as a shell reads them.
pub(super) fn joined(command: &[String]) -> Result<String, QuoteError> {
    try_join(command.iter().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::Command;
    use std::time::Instant;

    use super::*;

    fn node(name: &str, folder: &str, command: &[&str]) -> Node {
        let text = format!(
            "folder = {folder:?}\ncommand = {command:?}\n[[node]]\nname = {name:?}\nhost = \"h\"\n\
             address = \"127.0.0.1:1\""
        );
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("fleet.toml");
        std::fs::write(&file, text).unwrap();
        crate::fleet::checked::Fleet::read(&file).unwrap().nodes.remove(0)
    }

    fn output_of(script: &str) -> String {
        let output = Command::new("sh").args(["-c", script]).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{script}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    #[test]
    fn lines_pass_any_login_shell() {
        let node = node("N1", "lon-fleet", &["sut-node", "serve"]);
        let wait = Duration::from_secs(3);
        let lines = [facts(&node, Some("p")), start(&node), started(&node, 0), stop(&node, wait), log(&node)];
        for line in lines.into_iter().map(Result::unwrap).chain([clock()]) {
            assert!(!line.contains(['\n', '\\', '!', '^', '\'']), "{line}");
            assert!(Command::new("sh").args(["-n", "-c", &line]).status().unwrap().success(), "{line}");
        }
    }

    #[test]
    fn listeners_are_found_as_the_kernel_writes_them() {
        assert_eq!(listening("0.0.0.0:8000"), ": [0-9A-F]+:1F40 [0-9A-F]+:[0-9A-F]+ 0A ");
        if cfg!(target_endian = "little") {
            assert!(
                listening("127.0.0.2:8000").starts_with(": (0200007F|00000000|"),
                "{}",
                listening("127.0.0.2:8000")
            );
            assert!(listening("[::1]:80").contains("(00000000000000000000000001000000|"), "{}", listening("[::1]:80"));
        }
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let here = listener.local_addr().unwrap();
        let is_taken = |listen: &str| output_of(&format!("if {}; then echo yes; else echo no; fi", taken(listen)));
        let port = here.port();
        assert_eq!(is_taken(&here.to_string()), "yes");
        assert_eq!([is_taken(&format!("0.0.0.0:{port}")), is_taken(&format!("127.0.0.9:{port}"))], ["yes", "no"]);
        drop(listener);
        // A child that another test has just forked has the listener until it becomes its program.
        assert!((0..10_000).any(|_| is_taken(&here.to_string()) == "no"));
    }

    /// A folder with a `cat` that takes a second, which a start reads the name of the boot with; and a node in it that
    /// says what its pid file has.
    fn slow_host() -> (tempfile::TempDir, Node) {
        let folder = tempfile::tempdir().unwrap();
        let slow = folder.path().join("cat");
        std::fs::write(&slow, "#!/bin/sh\nsleep 1\nPATH=${PATH#*:} exec cat \"$@\"\n").unwrap();
        std::fs::set_permissions(&slow, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = folder.path().to_str().unwrap();
        // It is found by the folder in its words as long as it runs.
        let look = format!("read -r p b k <{path}/N1.pid && echo file of $p or $$; exec tail -n 0 -f {path}/cat");
        let node = node("N1", path, &["sh", "-c", &look]);
        (folder, node)
    }

    /// The node's start on its slow host.
    fn slow_start(folder: &tempfile::TempDir, node: &Node) -> String {
        format!("PATH={}:$PATH; {}", folder.path().display(), start(node).unwrap())
    }

    #[test]
    fn no_program_runs_before_its_pid_file_is_written() {
        let (folder, node) = slow_host();
        let answer = output_of(&slow_start(&folder, &node));
        let pid = answer.split(' ').nth(1).unwrap();
        while output_of(&log(&node).unwrap()).is_empty() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let log_text = output_of(&log(&node).unwrap());
        let ended = output_of(&stop(&node, Duration::from_secs(60)).unwrap());
        assert_eq!((log_text, ended), (format!("file of {pid} or {pid}"), format!("ended {pid}")));
    }

    /// The second comes while the first waits for the name of the boot.
    #[test]
    fn of_two_starts_at_once_one_starts_the_node() {
        let (folder, node) = slow_host();
        let line = slow_start(&folder, &node);
        let mut answers = std::thread::scope(|scope| {
            let starts = [(); 2].map(|()| scope.spawn(|| output_of(&line)));
            starts.map(|start| start.join().unwrap())
        });
        let ended = output_of(&stop(&node, Duration::from_secs(60)).unwrap());
        answers.sort();
        let pid = ended.strip_prefix("ended ").unwrap();
        assert_eq!(answers, [format!("running {pid}"), format!("started {pid} 0")]);
        assert_eq!(commands_with(&node.folder), Vec::<String>::new());
    }

    /// The shell of the start is killed while the host names its boot, as by a connection that breaks.
    #[test]
    fn a_start_that_is_cut_off_leaves_no_process_that_a_stop_does_not_find() {
        let (folder, node) = slow_host();
        let mut line = Command::new("sh").args(["-c", &slow_start(&folder, &node)]).spawn().unwrap();
        while !std::path::Path::new(&node.log()).exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(300));
        line.kill().unwrap();
        line.wait().unwrap();
        // A step that was begun may still come to its end.
        let until = Instant::now() + Duration::from_secs(300);
        loop {
            output_of(&stop(&node, Duration::from_secs(60)).unwrap());
            match commands_with(&node.folder) {
                commands if commands.is_empty() => break,
                commands if Instant::now() > until => panic!("processes are left: {commands:?}"),
                _ => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    }

    /// The processes with this text in a word of their commands.
    fn commands_with(text: &str) -> Vec<String> {
        let commands = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let command = std::fs::read(entry.unwrap().path().join("cmdline")).ok()?;
            Some(String::from_utf8_lossy(&command).replace('\0', " "))
        });
        commands.filter(|command| command.contains(text)).collect()
    }

    /// A node's whole life, with words that would do harm if a shell read them.
    #[test]
    fn a_process_is_started_once_and_only_it_is_ended() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("a b;touch $HOME");
        let marker = above.path().join("harm");
        let evil = format!("x; touch {} $(touch {})", marker.display(), marker.display());
        let node = node("N 1;'\"`", folder.to_str().unwrap(), &["sh", "-c", "echo \"$0\"; exec sleep 600", &evil]);
        let started_as = output_of(&start(&node).unwrap());
        let tokens: Vec<&str> = started_as.split(' ').collect();
        let ["started", pid, "0"] = tokens[..] else { panic!("{started_as}") };
        assert_eq!(output_of(&start(&node).unwrap()), format!("running {pid}"));
        while output_of(&log(&node).unwrap()).is_empty() {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(output_of(&log(&node).unwrap()), evil);
        assert_eq!(output_of(&self::started(&node, 0).unwrap()), format!("pid {pid}\nlog {evil}"));
        assert!(output_of(&facts(&node, None).unwrap()).starts_with(&format!("system Linux\npid {pid}\n")));

        // The id of another process: a start time that is not its own.
        let file = std::fs::read_to_string(node.pid()).unwrap();
        let parts: Vec<&str> = file.split_whitespace().collect();
        std::fs::write(node.pid(), format!("{} 1{} {}\n", parts[0], parts[1], parts[2])).unwrap();
        assert_eq!(output_of(&stop(&node, Duration::from_secs(1)).unwrap()), "none");
        assert!(std::path::Path::new(&format!("/proc/{pid}")).exists(), "it was not ended");
        // An earlier boot.
        std::fs::write(node.pid(), format!("{} {} 0-0\n", parts[0], parts[1])).unwrap();
        assert_eq!(output_of(&stop(&node, Duration::from_secs(1)).unwrap()), "none");

        std::fs::write(node.pid(), &file).unwrap();
        assert_eq!(output_of(&stop(&node, Duration::from_secs(60)).unwrap()), format!("ended {pid}"));
        assert_eq!(output_of(&stop(&node, Duration::from_secs(1)).unwrap()), "none");
        assert!(!marker.exists(), "a name was read as a command");
    }
}

//! A fleet: SUT nodes of several hosts, by one file, and the commands that are typed for it. The hosts are this machine
//! unless the file says otherwise: the command that reaches them is a shell.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use lon_run::documents::fleet::FleetReport;
use tempfile::TempDir;

use crate::process::{Finished, LoadGen, binary};

/// Hosts by their names: `slow` says nothing, `gone` is not there, `mac` says that it is no Linux, all others are this
/// machine.
pub const HOSTS: &str = "ssh = '''sh -c 'case $0 in slow) echo $$ >begun; exec sleep 600;; \
                     gone) echo no route to host gone >&2; exit 255;; \
                     mac) exec sh -c \"uname() { echo Darwin; }; $1\";; esac; exec sh -c \"$1\"' {host}'''\n";

/// A fleet in a folder of its own, from which all commands are typed. Its nodes are ended when it is dropped.
pub struct Fleet {
    folder: TempDir,
}

impl Fleet {
    /// `head` stands before the nodes.
    pub fn new(head: &str, nodes: &[String]) -> Fleet {
        let folder = tempfile::tempdir().unwrap();
        let program = binary("sut-node");
        let usual = format!("program = \"{}\"\nfolder = \"its logs\"\n", program.display());
        fs::write(folder.path().join("fleet.toml"), format!("{usual}{head}\n{}", nodes.concat())).unwrap();
        Fleet { folder }
    }

    /// A file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Types `loadgen-node fleet ACTION fleet.toml MORE` in the folder.
    pub fn begin(&self, action: &str, more: &[&str]) -> LoadGen {
        let there = format!("cd {}; exec \"$0\" \"$@\"", self.folder.path().display());
        LoadGen::start_under(&["sh", "-c", &there], &[&["fleet", action, "fleet.toml"], more].concat())
    }

    /// The same, to its end.
    pub fn does(&self, action: &str, more: &[&str]) -> Finished {
        self.begin(action, more).finish()
    }

    /// The same as a document, and the exit code.
    pub fn document(&self, action: &str) -> (FleetReport, Option<i32>) {
        let done = self.does(action, &["--json"]);
        (serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{error}: {done:?}")), done.code)
    }

    /// Types a line into a shell in the folder.
    pub fn paste(&self, line: &str) -> Finished {
        let programs = binary("loadgen-node");
        let path = format!("{}:{}", programs.parent().unwrap().display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("sh");
        let done = shell.args(["-c", line]).current_dir(self.folder.path()).env("PATH", path).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Finished {
            code: done.status.code(),
            stdout: text(&done.stdout),
            stderr: text(&done.stderr),
            ..Finished::default()
        }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        // Without it none was started, and hosts that never answer need not be waited for.
        if self.path("its logs").exists() {
            let _ = self.begin("stop", &[]).finish();
        }
    }
}

/// A node of this name and address as the file has it, on this machine, with more lines.
pub fn node(name: &str, address: &str, more: &str) -> String {
    on("here", name, address, more)
}

/// The same on a host of this name.
pub fn on(host: &str, name: &str, address: &str, more: &str) -> String {
    format!("[[node]]\nname = '''{name}'''\nhost = \"{host}\"\naddress = \"{address}\"\n{more}\n")
}

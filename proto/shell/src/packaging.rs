//! Files that a package puts beside a program, made of its command line: completions and manual pages.

use std::io;
use std::path::Path;

use clap::Command;
pub use clap_complete::Shell;

/// Prints the script with which a shell completes the program's command line.
///
/// # Errors
/// Standard output cannot be written to.
pub fn completions(mut command: Command, shell: Shell) -> io::Result<()> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    io::Write::write_all(&mut io::stdout(), &script)
}

/// Writes a manual page for the program and for each of its commands into a folder, which is made if need be.
///
/// # Errors
/// The folder cannot be made, or a page cannot be written.
pub fn manual(command: Command, folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(command, folder)
}

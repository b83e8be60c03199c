// Writes an input to a folder in memory and opens it as a dataset. Included by the targets of formats.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use lon_qsl::dataset::{Dataset, OpenOptions};

/// A folder of this process, in memory where there is one. `fill` is given it once, for what no input changes.
fn folder(fill: fn(&Path)) -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let root = if Path::new("/dev/shm").is_dir() { "/dev/shm".into() } else { std::env::temp_dir() };
        let folder = root.join(format!("lon-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        fill(&folder);
        folder
    })
}

/// Opens `text` as a dataset and loads its first sample and its last.
fn open_and_load(text: &str) {
    let Ok(mut dataset) = Dataset::open(text, &OpenOptions::default()) else { return };
    let last = dataset.total_count() - 1;
    let _ = dataset.load([0, last].into_iter());
}

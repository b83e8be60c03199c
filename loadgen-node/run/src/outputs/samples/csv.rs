//! Samples as CSV: a line of heads, then a line for each sample. Cells of what is not known are empty.

use std::io::{self, Write};

use super::recording::{PARTS, Recording, Sample};
use crate::outputs::tables::table::quoted;

/// Writes all samples.
///
/// # Errors
/// They cannot be read, or `out` cannot be written to.
pub fn write(recording: &mut Recording, out: &mut dyn Write) -> io::Result<()> {
    let has_tokens = recording.has_tokens();
    let nodes: Option<Vec<String>> = recording.nodes().map(|nodes| nodes.iter().map(|node| quoted(node)).collect());
    write!(out, "sample,query,qsl_idx,start_ns,latency_ns,end")?;
    if has_tokens {
        write!(out, ",first_token_ns,tokens")?;
    }
    if nodes.is_some() {
        write!(out, ",node")?;
        PARTS.iter().try_for_each(|part| write!(out, ",{part}_ns"))?;
    }
    writeln!(out)?;
    recording.each(|row| {
        let Sample { sample, query, start_ns, end, .. } = row;
        write!(out, "{sample},{query},")?;
        number(row.qsl_idx, out)?;
        write!(out, ",{start_ns},")?;
        number(row.latency_ns, out)?;
        write!(out, ",{end}")?;
        if has_tokens {
            write!(out, ",")?;
            number(row.first_token_ns, out)?;
            write!(out, ",{}", row.tokens)?;
        }
        if let Some(nodes) = &nodes {
            write!(out, ",{}", row.node.map_or("", |node| nodes[node].as_str()))?;
            for part in 0..PARTS.len() {
                write!(out, ",")?;
                number(row.parts_ns.map(|parts| parts[part]), out)?;
            }
        }
        writeln!(out)
    })?;
    out.flush()
}

fn number(number: Option<u64>, out: &mut dyn Write) -> io::Result<()> {
    number.map_or(Ok(()), |number| write!(out, "{number}"))
}

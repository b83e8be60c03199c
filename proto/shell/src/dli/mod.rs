//! Performance tests as rows of the DLI benchmark (Deep Learning Inference benchmark), which both programs write: a
//! campaign those of its runs, `sut-node bench --dli` those of one model in one process.
//!
//! These quantities are not those of MLPerf: there are no percentiles and no verdict of LoadGen in them.
//!
//! - [`facts`]: facts of a test that no run knows;
//! - [`metrics`]: the formulas, on times alone;
//! - [`row`]: a performance test with its 22 columns;
//! - [`terms`]: a setup in the words of DLI.
//!
//! Source of the columns and formulas: itlab-vision/dl-benchmark, revision ec4106e, read as fact.

pub mod facts;
pub mod metrics;
pub mod row;
pub mod terms;

/// A line of a table as CSV with `;`, since texts of the infrastructure have commas.
pub fn line(cells: &[String]) -> String {
    let cell = |cell: &String| {
        let cell = lon_proto::text::on_one_line(cell);
        if cell.contains([';', '"']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
    };
    cells.iter().map(cell).collect::<Vec<_>>().join(";") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_the_columns_of_dli() {
        let heads = line(&row::HEADS.map(str::to_owned));
        assert_eq!(heads.matches(';').count(), 21);
        assert!(heads.starts_with("Status;Task type;Topology name;Dataset;Framework;Inference Framework;Input blob"));
        assert!(heads.ends_with("Latency per second;Error type\n"));
        let cells = ["a;b".to_owned(), "c, \"d\"".to_owned(), "e, f".to_owned()];
        assert_eq!(line(&cells), "\"a;b\";\"c, \"\"d\"\"\";e, f\n");
    }
}

//! HTML pages that a program writes.

/// Room for a million points of a curve would be none.
const LARGEST_BYTES: usize = 2 << 20;

/// The part of a page with this id, to its end.
pub fn section<'a>(page: &'a str, id: &str) -> Option<&'a str> {
    let (_, behind) = page.split_once(&format!("<section id=\"{id}\">"))?;
    behind.split_once("</section>").map(|(section, _)| section)
}

/// Fails unless nothing on the page is fetched, and nothing is run.
#[track_caller]
pub fn stands_alone(page: &str) {
    assert!(page.len() < LARGEST_BYTES, "{} bytes", page.len());
    let links = ["<script", "<link", "<img", "<iframe", "src=", "href=", "url(", "@import"];
    let references: Vec<&str> = links.into_iter().filter(|link| page.contains(link)).collect();
    assert!(references.is_empty(), "{references:?}");
    let addresses = page.match_indices("://").map(|(at, _)| &page[at.saturating_sub(5)..at + 30]);
    let others: Vec<&str> = addresses.filter(|text| !text.contains("www.w3.org/2000/svg")).collect();
    assert!(others.is_empty(), "{others:?}");
}

/// A table of a page, as it is read.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Heads of the columns.
    pub heads: Vec<String>,
    /// The texts of its cells, row by row.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// The table of the part of a page with this id.
    ///
    /// # Panics
    /// There is none.
    #[track_caller]
    pub fn of(page: &str, id: &str) -> Table {
        let part = section(page, id).unwrap_or_else(|| panic!("no {id}"));
        let (head, body) = part.split_once("<tbody>").unwrap_or_else(|| panic!("no table in {id}"));
        let heads = head.rsplit_once("<thead>").map_or("", |(_, head)| head);
        let rows = body.split("<tr>").skip(1).map(cells).collect();
        Table { heads: cells(heads), rows }
    }

    /// The cells of the row whose first one is this, without it.
    ///
    /// # Panics
    /// There is none.
    #[track_caller]
    pub fn row(&self, name: &str) -> &[String] {
        let entry = self.rows.iter().find(|row| row[0] == name);
        &entry.unwrap_or_else(|| panic!("no '{name}' in {:?}", self.rows))[1..]
    }

    /// The cells below a head.
    ///
    /// # Panics
    /// There is none.
    #[track_caller]
    pub fn column(&self, head: &str) -> Vec<&str> {
        let at = self.heads.iter().position(|own| own == head);
        let at = at.unwrap_or_else(|| panic!("no '{head}' in {:?}", self.heads));
        self.rows.iter().map(|row| row[at].as_str()).collect()
    }
}

/// The texts of the cells of a row.
fn cells(row: &str) -> Vec<String> {
    let is_cell = |part: &&str| part.starts_with("th>") || part.starts_with("td>") || part.starts_with("td ");
    let inside = |part: &str| {
        let end = part.find("</th>").or_else(|| part.find("</td>")).unwrap_or(part.len());
        text(&part[part.find('>').map_or(0, |at| at + 1)..end])
    };
    // A cell has no cells in it; a bar in it is an element of another name.
    let starts = row.match_indices('<').map(|(at, _)| &row[at + 1..]);
    starts.filter(is_cell).map(inside).collect()
}

/// Returns the visible text of a part of a page: its text without elements.
pub fn text(part: &str) -> String {
    let mut text = String::with_capacity(part.len());
    for (place, piece) in part.split('<').enumerate() {
        text.push_str(if place == 0 { piece } else { piece.split_once('>').map_or("", |(_, behind)| behind) });
    }
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// The answer to a question in the head of a page of a run.
///
/// # Panics
/// The question is not there.
#[track_caller]
pub fn answer(page: &str, question: &str) -> String {
    let behind = page.split_once(&format!("<dt>{question}</dt><dd>")).map(|(_, behind)| behind);
    let behind = behind.unwrap_or_else(|| panic!("no '{question}'"));
    text(behind.split_once("</dd>").map_or(behind, |(answer, _)| answer))
}

/// Units of figures on a page, and what one of them is in ns, bytes, bits per second or samples per second.
const UNITS: [(&str, f64); 14] = [
    ("ns", 1.0),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
    ("/s", 1.0),
    ("samples/s", 1.0),
];

/// A figure as a page has it, such as `1.5µs`, `963.40 MB` or `42/s`: its value in the smallest unit of its kind, and
/// half of what its last digit stands for.
///
/// # Panics
/// It is none.
#[track_caller]
pub fn figure(text: &str) -> (f64, f64) {
    let end = text.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = (&text[..end], text[end..].trim());
    let unit = match unit {
        "" => 1.0,
        unit => UNITS.iter().find(|(name, _)| *name == unit).unwrap_or_else(|| panic!("'{text}'")).1,
    };
    let value: f64 = digits.parse().unwrap_or_else(|error| panic!("'{text}': {error}"));
    let behind = digits.split_once('.').map_or(0, |(_, behind)| behind.len());
    (value * unit, 0.5 * 10f64.powi(-(behind as i32)) * unit)
}

/// Fails unless a figure on a page is this value, as exactly as its digits say.
#[track_caller]
pub fn shows(text: &str, value: f64) {
    let (number, half) = figure(text);
    assert!((number - value).abs() <= half * 1.001 + value.abs() * 1e-12, "the page says '{text}' of {value}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_figures_are_read() {
        let page = [
            "<dt>How</dt><dd>so &lt;<b>fast</b></dd><section id=\"a\"><table>",
            "<thead><tr><th>x</th><th>y</th></tr></thead><tbody><tr><th>one</th><td>1.5µs</td></tr>",
            "<tr><th>two</th><td class=\"bad\"><span>no</span></td></tr></tbody></table></section>",
        ];
        let page = &page.concat();
        let table = Table::of(page, "a");
        assert_eq!((table.heads.len(), table.row("two")[0].as_str()), (2, "no"));
        assert_eq!((table.column("y"), answer(page, "How")), (vec!["1.5µs", "no"], "so <fast".to_owned()));
        shows("1.5µs", 1_460.0);
        shows("963.40 MB", 963_401_234.0);
        shows("12", 12.0);
        assert!(std::panic::catch_unwind(|| shows("1.5µs", 1_560.0)).is_err());
    }
}

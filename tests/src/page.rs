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
    let found: Vec<&str> = links.into_iter().filter(|link| page.contains(link)).collect();
    assert!(found.is_empty(), "{found:?}");
    let addresses = page.match_indices("://").map(|(at, _)| &page[at.saturating_sub(5)..at + 30]);
    let others: Vec<&str> = addresses.filter(|text| !text.contains("www.w3.org/2000/svg")).collect();
    assert!(others.is_empty(), "{others:?}");
}

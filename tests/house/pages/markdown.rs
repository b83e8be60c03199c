//! The parts of a page in Markdown that rules ask for.

/// A page, read.
pub(crate) struct Page {
    /// The anchors of its headings, as GitHub makes them.
    pub(crate) anchors: Vec<String>,
    /// The targets of its links and pictures.
    pub(crate) links: Vec<String>,
    /// The sentences of paragraphs and lists; tables, headings and blocks of code have none.
    pub(crate) sentences: Vec<String>,
    /// Its lines of text with more than 120 columns; those of tables and of blocks of code are left out.
    pub(crate) wide: Vec<String>,
}

impl Page {
    pub(crate) fn read(text: &str) -> Page {
        let mut page = Page { anchors: Vec::new(), links: Vec::new(), sentences: Vec::new(), wide: Vec::new() };
        let (mut is_code, mut paragraph) = (false, String::new());
        for line in text.lines() {
            let line = line.trim();
            let is_fence = line.starts_with("```");
            is_code ^= is_fence;
            let is_text = !is_code && !is_fence;
            if is_text {
                page.links.extend(links(line));
            }
            if is_text && !line.starts_with('|') && line.chars().count() > 120 {
                page.wide.push(line.to_owned());
            }
            let heading = line.trim_start_matches('#');
            let is_heading = is_text && heading.len() < line.len() && heading.starts_with(' ');
            if is_heading {
                page.anchor(heading);
            }
            let numbered = line.split_once(". ").filter(|(number, _)| is_number(number));
            let item = line.strip_prefix("- ").or(numbered.map(|(_, text)| text));
            let is_prose = is_text && !is_heading && !line.is_empty() && !line.starts_with(['|', '<', '!']);
            if !is_prose || item.is_some() {
                page.end(&mut paragraph);
            }
            if is_prose {
                paragraph.push_str(item.unwrap_or(line));
                paragraph.push(' ');
            }
        }
        page.end(&mut paragraph);
        page
    }

    fn anchor(&mut self, heading: &str) {
        let mut anchor = String::new();
        for c in plain(heading).trim().to_lowercase().chars() {
            match c {
                ' ' => anchor.push('-'),
                c if c.is_alphanumeric() || c == '-' || c == '_' => anchor.push(c),
                _ => {}
            }
        }
        let before = self.anchors.iter().filter(|other| **other == anchor).count();
        self.anchors.push(if before == 0 { anchor } else { format!("{anchor}-{before}") });
    }

    /// Takes the sentences of a paragraph.
    fn end(&mut self, paragraph: &mut String) {
        let text = plain(&std::mem::take(paragraph));
        let mut sentence = String::new();
        for word in text.split_whitespace() {
            sentence.push_str(word);
            sentence.push(' ');
            if word.trim_end_matches([')', '"', '*']).ends_with(['.', '?', '!', ':']) {
                self.sentences.push(std::mem::take(&mut sentence).trim().to_owned());
            }
        }
        if !sentence.is_empty() {
            self.sentences.push(sentence.trim().to_owned());
        }
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The targets of links in a line; text in backticks has none.
fn links(line: &str) -> Vec<String> {
    let outside: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
    let after = outside.split("](").skip(1);
    after.filter_map(|tail| tail.split_once(')')).map(|(link, _)| link.to_owned()).collect()
}

/// A text without its marks: code is one word, a link is its text.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for (number, part) in text.split('`').enumerate() {
        match number % 2 {
            0 => plain.push_str(part),
            _ => plain.push_str(&part.replace(char::is_whitespace, "_")),
        }
    }
    let mut without = String::new();
    let mut tail = plain.as_str();
    while let Some((before, after)) = tail.split_once("](") {
        without.push_str(before);
        tail = after.split_once(')').map_or("", |(_, tail)| tail);
    }
    without.push_str(tail);
    without.replace(['[', '*'], "")
}

/// Pages that a text names by their path from the root: `docs/.../NAME.md`, with an anchor or without.
pub(crate) fn names_of_pages(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "/-_.#".contains(c);
    let named = text.match_indices("docs/").filter_map(|(at, _)| {
        let before = text[..at].chars().next_back();
        let name: String = text[at..].chars().take_while(|c| is_part(*c)).collect();
        let (file, tail) = name.split_once(".md")?;
        let is_path = before.is_none_or(|c| !is_part(c));
        let anchor = tail.strip_prefix('#').map(|anchor| anchor.trim_end_matches('.'));
        let page = anchor.map_or(format!("{file}.md"), |anchor| format!("{file}.md#{anchor}"));
        is_path.then_some(page)
    });
    named.collect()
}

#[test]
fn a_page_has_anchors_links_and_sentences() {
    let page = Page::read(
        "# A page: `x`\n\nOne [link, two](a.md#b) words. Who\nknows?\n\n- item `a b`\n1. second\n\n| a [cell](c.md) \
         |\n\n\
         ```sh\n# no heading\n[no](link)\n```\n\n## A page, x\n![p](d.svg)\n`[no](link)`\n",
    );
    assert_eq!(page.anchors, ["a-page-x", "a-page-x-1"]);
    assert_eq!(page.links, ["a.md#b", "c.md", "d.svg"]);
    assert_eq!(page.sentences, ["One link, two words.", "Who knows?", "item a_b", "second", "no"]);
}

#[test]
fn names_of_pages_are_found() {
    let names = names_of_pages("see docs/a/b.md, docs/c.md#d-e. and ../docs/no.md or docs/none");
    assert_eq!(names, ["docs/a/b.md", "docs/c.md#d-e"]);
}

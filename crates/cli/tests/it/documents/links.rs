//! The links of the documents. Guarantee: a link between files of the repository leads to a file
//! that exists, and to a heading that the file has.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

use super::root;

/// The folders whose documents are read, below the repository.
const FOLDERS: [&str; 6] =
    ["", "docs", "docs/t-sql", "docs/internals", "docs/decisions", "clients"];

/// The lines of a page that are not in a fenced block, joined.
fn outside_of_blocks(page: &str) -> String {
    let mut is_inside = false;
    let mut text = String::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_inside = !is_inside;
        } else if !is_inside {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// The text without its code spans, which end with their paragraph at the latest.
fn without_code(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| {
        let parts = paragraph.split('`').step_by(2);
        parts.collect::<Vec<_>>().concat()
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

/// What the links of a page name, in their order.
fn links_of(page: &str) -> Vec<String> {
    let text = without_code(&outside_of_blocks(page));
    let after = text.split("](").skip(1);
    let targets =
        after.filter_map(|rest| rest.split_once(')').map(|(target, _)| target.to_owned()));
    targets.filter(|target| !target.contains(char::is_whitespace)).collect()
}

/// The anchors of a page's headings: a heading that occurs again has a number behind it.
fn anchors_of(page: &str) -> Vec<String> {
    let mut times: HashMap<String, usize> = HashMap::new();
    let text = outside_of_blocks(page);
    let headings = text.lines().filter_map(|line| {
        let heading = line.trim_start_matches('#');
        (heading.len() < line.len()).then(|| heading.strip_prefix(' ')).flatten()
    });
    headings
        .map(|heading| {
            let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            let anchor: String = kept.collect::<String>().to_lowercase().replace(' ', "-");
            let before = times.entry(anchor.clone()).or_default();
            *before += 1;
            if *before == 1 { anchor } else { format!("{anchor}-{}", *before - 1) }
        })
        .collect()
}

/// Why a link of a document leads nowhere.
fn follow(document: &Path, link: &str) -> Result<(), String> {
    if link.starts_with("http://") || link.starts_with("https://") || link.starts_with("mailto:") {
        return Ok(());
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let folder = document.parent().unwrap_or(document);
    let file = if path.is_empty() { document.to_owned() } else { folder.join(path) };
    if !file.exists() {
        return Err("there is no such file".to_owned());
    }
    if anchor.is_empty() || file.extension().is_none_or(|e| e != "md") {
        return Ok(());
    }
    let page = std::fs::read_to_string(&file).map_err(|e| e.to_string())?;
    let has = anchors_of(&page).iter().any(|known| known == anchor);
    if has { Ok(()) } else { Err("the page has no such heading".to_owned()) }
}

#[test]
fn links_lead_to_files_and_headings_that_exist() {
    let (mut followed, mut wrong) = (0, String::new());
    for folder in FOLDERS {
        for entry in std::fs::read_dir(root().join(folder)).expect("a folder of documents") {
            let document = entry.expect("a file").path();
            if document.extension().is_none_or(|e| e != "md") {
                continue;
            }
            let page = std::fs::read_to_string(&document).expect("a document");
            for link in links_of(&page) {
                followed += 1;
                if let Err(why) = follow(&document, &link) {
                    let name = document.strip_prefix(root()).unwrap_or(&document).display();
                    let _ = writeln!(wrong, "{name}: {link}: {why}");
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(followed > 300, "only {followed} links");
}

#[test]
fn links_and_headings_are_those_that_a_reader_sees() {
    let page = "# A `b`, c_d\n[one](x.md#a) `[two](y.md)` [`three`](z.md)\n\n\
                ```text\n# no\n[no](no)\n```\n## A\n## A\n";
    assert_eq!(links_of(page), ["x.md#a", "z.md"]);
    assert_eq!(anchors_of(page), ["a-b-c_d", "a", "a-1"]);
    assert!(follow(Path::new("docs/nowhere.md"), "no-such-file.md").is_err());
    assert_eq!(follow(Path::new("docs/nowhere.md"), "https://example.org/x"), Ok(()));
}

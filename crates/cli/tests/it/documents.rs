//! README and the documents are run as a reader would run them: the examples of a document in their
//! order, in a folder of its own, with the `ringwood` of this build.
//!
//! - ```` ```sh ```` is given to a shell; `cargo run --release --` and `sqlcmd` stand for this
//!   `ringwood`, whose server listens on another port than the document says.
//! - ```` ```sql ```` is a script for `ringwood sql --data ./data`.
//! - ```` ```rust ```` must be, line for line, a function of [`examples`], which is run in the
//!   folder.
//! - Others (`text`, `toml`, ...) are read by people and by other programs.
//!
//! A comment in front of a block says what it needs: `<!-- example: after: ... -->` runs these
//! lines of the same language first, `<!-- example: not run: WHY -->` leaves it alone. A block
//! without a language is refused: nobody could say whether it can run.

mod blocks;
mod examples;
mod links;
mod reader;

use blocks::{Block, Directive, blocks_of};
use reader::Reader;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Languages that no reader runs.
const READ: [&str; 7] = ["text", "toml", "yaml", "python", "js", "json", "ini"];

/// The folder of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// README and the pages of docs.
fn documents() -> Vec<PathBuf> {
    let folders = ["docs", "docs/t-sql"].map(|folder| root().join(folder));
    let pages = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("the documents"));
    let pages = pages.map(|page| page.expect("a page").path());
    let mut all: Vec<PathBuf> =
        pages.filter(|page| page.extension().is_some_and(|e| e == "md")).collect();
    all.push(root().join("README.md"));
    all.sort();
    all
}

/// Runs one block; what went wrong.
fn run(reader: &mut Reader, block: &Block) -> Result<(), String> {
    let before = match &block.directive {
        Some(Directive::NotRun) => return Ok(()),
        Some(Directive::After(lines)) => lines.as_str(),
        None => "",
    };
    match block.language.as_str() {
        "sh" => reader.shell(before, &block.text),
        "sql" => reader.script(before, &block.text),
        "rust" => reader.program(&block.text),
        language if READ.contains(&language) => Ok(()),
        "" => Err("the block has no language".to_owned()),
        language => Err(format!("nobody knows how to run {language}")),
    }
}

/// How often each kind of block was run.
#[derive(Default)]
struct BlockTally {
    run: usize,
    wrong: String,
}

#[test]
fn examples_do_what_the_documents_say() {
    let documents = documents();
    assert!(documents.len() > 10, "{documents:?}");
    let mut tally = BlockTally::default();
    for document in &documents {
        let text = std::fs::read_to_string(document).expect("a document");
        let blocks = blocks_of(&text);
        if blocks.iter().all(|block| READ.contains(&block.language.as_str())) {
            continue;
        }
        let mut reader = Reader::new();
        for block in &blocks {
            let runs = !matches!(block.directive, Some(Directive::NotRun));
            tally.run +=
                usize::from(runs && ["sh", "sql", "rust"].contains(&block.language.as_str()));
            if let Err(why) = run(&mut reader, block) {
                let name = document.strip_prefix(root()).unwrap_or(document).display();
                let _ = writeln!(tally.wrong, "{name}, line {}: {why}\n{}", block.line, block.text);
            }
        }
    }
    assert!(tally.wrong.is_empty(), "{}", tally.wrong);
    assert!(tally.run >= 14, "only {} examples were run", tally.run);
}

/// `cargo run` of the documents is this program's: here it was replaced by the program itself.
/// Cargo refuses to choose among the programs of a workspace unless one manifest names its own.
#[test]
fn cargo_run_in_the_workspace_runs_this_program() {
    let crates = std::fs::read_dir(root().join("crates")).expect("the crates");
    let mut named = Vec::new();
    for folder in crates {
        let manifest = folder.expect("a crate").path().join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest).unwrap_or_default();
        named
            .extend(text.lines().filter(|line| line.starts_with("default-run")).map(str::to_owned));
    }
    assert_eq!(named, ["default-run = \"ringwood\""]);
}

/// Screens of the prompt that other pages show are parts of those of docs/prompt.md, which a test
/// types; a line `...` stands between two parts.
#[test]
fn screens_elsewhere_are_those_of_the_prompts_page() {
    let read = |page: &str| std::fs::read_to_string(root().join(page)).expect("a document");
    let typed = blocks_of(&read("docs/prompt.md"));
    let mut shown = 0;
    for page in ["README.md", "CONTRIBUTING.md"] {
        for block in
            blocks_of(&read(page)).iter().filter(|block| block.text.starts_with("Sales 1>"))
        {
            for part in block.text.split("\n...\n") {
                let whole_lines = format!("\n{part}\n");
                let there = typed
                    .iter()
                    .any(|screen| format!("\n{}\n", screen.text).contains(&whole_lines));
                assert!(
                    there,
                    "{page}, line {}: docs/prompt.md has no such screen:\n{part}",
                    block.line
                );
                shown += 1;
            }
        }
    }
    assert!(shown >= 4, "only {shown} screens were found");
}

/// The child that runs a function of [`examples`]; without a name it has nothing to do.
#[test]
fn a_program_of_a_document() {
    if let Ok(name) = std::env::var(reader::PROGRAM) {
        let program =
            examples::PROGRAMS.iter().find(|program| program.0 == name).expect("a program");
        program.1().expect("it runs");
    }
}

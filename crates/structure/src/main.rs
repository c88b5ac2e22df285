//! How the files of each crate use each other: the circles among them and the pairs of outermost
//! modules, and a check of both; and that no code words an error that is not in the list of
//! messages.
//!
//! ```text
//! cargo run -p ringwood-structure                       every crate's circles, largest first
//! cargo run -p ringwood-structure -- --crate pages      with the files of each
//! cargo run -p ringwood-structure -- --check            fails where a circle has more files than it
//!                                                       may, a pair is not listed in pairs.txt, or
//!                                                       code words an error
//! cargo run -p ringwood-structure -- --root DIR         of the sources in that folder
//! ```
//!
//! A file uses another one when a path in it (`use`, or in the code) that begins with `crate`,
//! `super` or `self`, or with a module that it imports, leads there. That a module declares its
//! children is no use of them; that it exports their names again is.

mod circles;
mod messages;
mod pairs;
mod paths;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Files that a circle may have.
const MOST: usize = 4;
/// The modules of a crate and those that each of them uses.
type Uses = BTreeMap<String, BTreeSet<String>>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| args.iter().position(|a| a == name).and_then(|at| args.get(at + 1));
    let (only, root) = (option("--crate"), option("--root"));
    let check = args.iter().any(|a| a == "--check");
    let known = |a: &String| {
        ["--crate", "--check", "--root"].contains(&a.as_str()) || [only, root].contains(&Some(a))
    };
    if let Some(unknown) = args.iter().find(|a| !known(a)) {
        eprintln!("unknown argument: {unknown} (--crate NAME, --check, --root DIR)");
        return ExitCode::from(2);
    }
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let crates = root.map_or(own, PathBuf::from).join("crates");
    match look(&crates, only.map(String::as_str), check) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::from(2)
        }
    }
}

/// Prints the circles and pairs; false when `check` finds one that may not be.
fn look(crates: &Path, only: Option<&str>, check: bool) -> std::io::Result<bool> {
    let (mut sound, mut mutual) = (true, Vec::new());
    for folder in folders(crates)? {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let source = folder.join("src");
        if only.is_some_and(|only| only != name) || !source.is_dir() {
            continue;
        }
        let uses = uses(&source)?;
        let (found, pairs) = (circles::of(&uses), pairs::of(&uses));
        let largest = found.first().map_or(0, Vec::len);
        if largest > MOST {
            println!(
                "{name}: a circle of {largest} files, at most {MOST} may be: {}",
                found[0].join(", ")
            );
            sound = false;
        }
        if !check {
            let sizes: Vec<String> = found.iter().map(|circle| circle.len().to_string()).collect();
            println!(
                "{name}: {}",
                if sizes.is_empty() { "no circle".into() } else { sizes.join(", ") }
            );
            if only.is_some() {
                found.iter().for_each(|circle| println!("  {}", circle.join(", ")));
            }
            pairs.iter().for_each(|(a, b)| println!("  {a} and {b} use each other"));
        }
        mutual.extend(pairs.into_iter().map(|(a, b)| (name.clone(), a, b)));
    }
    if check && only.is_none() {
        let wrong = pairs::wrong(&mutual);
        wrong.iter().for_each(|wrong| println!("{wrong}"));
        sound &= wrong.is_empty() && messages::check(crates)?;
    }
    Ok(sound || !check)
}

fn folders(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>()?;
    found.sort();
    Ok(found)
}

/// The modules of a crate's sources, but for files of tests.
fn uses(source: &Path) -> std::io::Result<Uses> {
    let mut texts = BTreeMap::new();
    read(source, "", &mut texts)?;
    let mut all = Uses::new();
    for (module, text) in &texts {
        let mut found: Vec<String> =
            paths::of(text).iter().filter_map(|path| paths::absolute(path, module)).collect();
        let imported: BTreeSet<String> =
            found.iter().filter(|path| texts.contains_key(*path)).cloned().collect();
        for target in &imported {
            let name = target.rsplit("::").next().unwrap_or(target);
            let beyond = paths::through(text, name);
            found.extend(beyond.iter().map(|path| format!("{target}{}", &path[name.len()..])));
        }
        let targets = found.iter().filter_map(|path| longest(path, &texts)).filter(|t| t != module);
        all.insert(module.clone(), targets.collect());
    }
    Ok(all)
}

/// The module that a path leads to: the longest beginning of it that is one. The root of a crate is
/// none.
fn longest(path: &str, texts: &BTreeMap<String, String>) -> Option<String> {
    let mut path = path;
    loop {
        if texts.contains_key(path) {
            return Some(path.to_owned());
        }
        path = path.rsplit_once("::")?.0;
    }
}

fn read(folder: &Path, module: &str, texts: &mut BTreeMap<String, String>) -> std::io::Result<()> {
    for path in folders(folder)? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let inner = if module.is_empty() { name.clone() } else { format!("{module}::{name}") };
        if path.is_dir() {
            read(&path, &inner, texts)?;
        } else if path.extension().is_some_and(|e| e == "rs")
            && name != "tests"
            && !name.ends_with("_tests")
        {
            let own = match name.as_str() {
                "lib" | "main" if module.is_empty() => continue,
                "mod" => module.to_owned(),
                _ => inner,
            };
            texts.insert(own, std::fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

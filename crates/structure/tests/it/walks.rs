//! docs/internals/walks.md against the code: a function that has moved, gone or got another name
//! fails here, and so does a count that is not that of the lines.

use std::path::{Path, PathBuf};

/// A line of a walk.
struct Step {
    number: usize,
    /// Without its type.
    function: String,
    /// Under `crates`.
    file: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> String {
    std::fs::read_to_string(root().join("docs/internals/walks.md")).expect("the page")
}

/// The line's function, if it is one of a walk: `| 12 | `Type::name` | `file` | ...`.
fn step_of(line: &str) -> Option<Step> {
    let mut cells = line.strip_prefix('|')?.split('|').map(|cell| cell.trim().trim_matches('`'));
    let number = cells.next()?.parse().ok()?;
    let function = cells.next()?.rsplit("::").next()?.to_owned();
    Some(Step { number, function, file: cells.next()?.to_owned() })
}

/// The number before `functions**`, if the line has one.
fn count_of(line: &str) -> Option<usize> {
    line.split_once(" functions**")?.0.rsplit_once("**")?.1.parse().ok()
}

#[test]
fn each_function_is_in_its_file() {
    let page = page();
    let steps: Vec<Step> = page.lines().filter_map(step_of).collect();
    assert!(steps.len() > 80, "the page has {} functions", steps.len());
    for Step { number, function, file } in steps {
        let text = std::fs::read_to_string(root().join("crates").join(&file)).expect(&file);
        let begins = [format!("fn {function}("), format!("fn {function}<")];
        assert!(
            begins.iter().any(|begin| text.contains(begin)),
            "{number}: no {function} in {file}"
        );
    }
}

/// Tables of one walk go on where the one before them has ended, those of another begin at 1, or
/// where they leave the first walk.
#[test]
fn lines_are_numbered_without_a_gap() {
    let page = page();
    let lines: Vec<Option<Step>> = page.lines().map(step_of).collect();
    let pairs = lines.windows(2).filter_map(|pair| Some((pair[0].as_ref()?, pair[1].as_ref()?)));
    for (step, next) in pairs {
        assert_eq!(next.number, step.number + 1, "{} after {}", next.function, step.function);
    }
}

#[test]
fn counts_are_those_of_the_lines() {
    let page = page();
    let sections: Vec<&str> = page.split("\n## ").collect();
    let section =
        |name: &str| *sections.iter().find(|section| section.starts_with(name)).expect(name);
    let last =
        |name: &str| section(name).lines().filter_map(step_of).next_back().expect(name).number;
    let count = |name: &str| section(name).lines().find_map(count_of).expect(name);

    let batch = last("INSERT as a batch");
    assert_eq!(count("INSERT as a batch"), batch);
    let mut steps = section("INSERT as a batch").lines().filter_map(step_of);
    let session = steps.find(|step| step.function == "execute").expect("execute").number;
    let told = format!("of them {} from the", batch - session + 1);
    let words = section("INSERT as a batch").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&told), "{told}");

    // Where their last function stands in the batch they go on as that does.
    for name in ["INSERT as a call", "INSERT of an embedding program"] {
        let own = section(name).lines().filter_map(step_of).next_back().expect(name);
        let mut steps = section("INSERT as a batch").lines().filter_map(step_of);
        let same = steps.find(|step| (&step.function, &step.file) == (&own.function, &own.file));
        let left = batch - same.expect(name).number;
        assert_eq!(count(name), own.number + left, "{name}");
        let words = section(name).split_whitespace().collect::<Vec<_>>().join(" ");
        let rest = format!("then {} to {batch} ", batch - left + 1);
        assert!(words.contains(&rest), "{name}: {rest}");
    }
    assert_eq!(count("A row of a join"), last("A row of a join"));
}

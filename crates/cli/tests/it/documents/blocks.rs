//! The fenced blocks of a page with the comments that say how they run. Guarantee: each block that
//! begins is one of the list, also inside of a list's item.

/// What a comment in front of a block says.
#[derive(Debug, PartialEq, Eq)]
pub enum Directive {
    /// It cannot run here, for the reason that the comment gives.
    NotRun,
    /// Lines of the block's own language that run first.
    After(String),
}

#[derive(Debug)]
pub struct Block {
    /// Of the opening fence, from 1.
    pub line: usize,
    pub language: String,
    /// Without the indentation of the fence.
    pub text: String,
    pub directive: Option<Directive>,
}

const MARK: &str = "<!-- example:";

/// What a whole comment says. A comment with another word is an error of the page.
fn directive(comment: &str, line: usize) -> Directive {
    let said = comment
        .trim_start()
        .strip_prefix(MARK)
        .and_then(|rest| rest.trim_end().strip_suffix("-->"));
    let said = said.unwrap_or_default().trim();
    if let Some(reason) = said.strip_prefix("not run:") {
        assert!(reason.trim().len() > 5, "line {line}: the reason is missing");
        return Directive::NotRun;
    }
    let lines = said.strip_prefix("after:");
    Directive::After(lines.unwrap_or_else(|| panic!("line {line}: {comment}")).trim().to_owned())
}

pub fn blocks_of(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = page.lines().enumerate();
    let mut waiting: Option<Directive> = None;
    while let Some((at, line)) = lines.next() {
        let inner = line.trim_start();
        if inner.starts_with(MARK) {
            let mut comment = line.to_owned();
            while !comment.trim_end().ends_with("-->") {
                let (_, more) = lines.next().expect("a comment ends");
                comment = format!("{comment}\n{more}");
            }
            waiting = Some(directive(&comment, at + 1));
            continue;
        }
        let Some(language) = inner.strip_prefix("```") else {
            // A comment belongs to the block right behind it.
            assert!(
                waiting.is_none() || inner.is_empty(),
                "line {}: no block follows the comment",
                at + 1
            );
            continue;
        };
        let indent = line.len() - inner.len();
        let body = lines.by_ref().map(|(_, line)| line).take_while(|line| line.trim() != "```");
        let body: Vec<&str> = body.map(|line| line.get(indent..).unwrap_or_default()).collect();
        blocks.push(Block {
            line: at + 1,
            language: language.trim().to_owned(),
            text: body.join("\n"),
            directive: waiting.take(),
        });
    }
    blocks
}

#[test]
fn blocks_are_found_with_their_comments() {
    let page = "a\n```sh\nls\n```\n<!-- example: not run: it takes hours -->\n```sql\nselect 1\n\n```\n- x\n  <!-- example: after:\n  create database d\n  -->\n  ```sql\n  use d\n    go\n  ```\n```\nout\n```\n";
    let blocks = blocks_of(page);
    let seen: Vec<_> =
        blocks.iter().map(|b| (b.line, b.language.as_str(), b.text.as_str())).collect();
    assert_eq!(
        seen,
        [(2, "sh", "ls"), (6, "sql", "select 1\n"), (14, "sql", "use d\n  go"), (18, "", "out")]
    );
    let said: Vec<_> = blocks.iter().map(|b| b.directive.as_ref()).collect();
    let after = Directive::After("create database d".to_owned());
    assert_eq!(said, [None, Some(&Directive::NotRun), Some(&after), None]);
}

//! Scripts without an engine: what each line asks for.

use super::*;

fn script(interactive: bool) -> Script {
    let rules = Rules { terminator: "GO".into(), expand: true, interactive };
    Script::new(Variables::new([]), rules)
}

/// Feeds lines of one file; what they ask for.
fn feed(script: &mut Script, text: &str) -> Vec<Result<Command, String>> {
    let lines = (1..).zip(text.lines());
    let place = |line| SourceLine { file: None, line };
    lines.filter_map(|(n, line)| script.line(line, &place(n)).transpose()).collect()
}

/// The texts and counts of the batches of a script.
fn batches(text: &str) -> Vec<(String, u32)> {
    let mut script = script(false);
    let mut found: Vec<_> = feed(&mut script, text)
        .into_iter()
        .map(|command| match command {
            Ok(Command::Run(batch)) => (batch.text, batch.count),
            other => panic!("{other:?}"),
        })
        .collect();
    found.extend(script.end().unwrap().map(|batch| (batch.text, batch.count)));
    found
}

#[test]
fn go_ends_batches_outside_of_quotes_and_comments() {
    let one = |text: &str| vec![(format!("{text}\n"), 1)];
    assert_eq!(batches("select 1\nGO\n"), one("select 1"));
    assert_eq!(batches("select 1\n go -- now\n"), one("select 1"));
    assert_eq!(batches("select 'a\ngo\n'"), one("select 'a\ngo\n'"));
    assert_eq!(batches("/* go\ngo */ select 1"), one("/* go\ngo */ select 1"));
    assert_eq!(batches("select 1 as\ngone\ngoto x"), one("select 1 as\ngone\ngoto x"));
    assert_eq!(
        batches("select 1\ngo 3\nselect 2\ngo 0"),
        [("select 1\n".into(), 3), ("select 2\n".into(), 0)]
    );
    assert_eq!(
        batches(
            ":setvar n 4\nselect 1\ngo $(n)"
                .trim_start_matches(":setvar n 4\n")
                .replace("$(n)", "4")
                .as_str()
        ),
        [("select 1\n".into(), 4)]
    );
    let mut other = script(false);
    other.rules.terminator = "run".into();
    assert!(matches!(feed(&mut other, "select 1\ngo\nRUN")[..], [Ok(Command::Run(_))]));
}

#[test]
fn variables() {
    let mut script = script(false);
    let commands = feed(
        &mut script,
        ":setvar T \"my table\"\n:SETVAR n 2\nselect * from [$(t)]\n:setvar T x\ngo $(N)",
    );
    let Some(Ok(Command::Run(batch))) = commands.last() else { panic!("{commands:?}") };
    assert_eq!((batch.text.as_str(), batch.count), ("select * from [x]\n", 2));
    // An undefined one is told with its line, and the batch is still there.
    let failed = feed(&mut script, "select 1\nselect $(nowhere)\ngo");
    assert_eq!(failed, [Err("line 2: 'nowhere' scripting variable not defined.".into())]);
    assert_eq!(script.text(), "select 1\nselect $(nowhere)\n");
    script.rules.expand = false;
    assert!(
        matches!(&feed(&mut script, "go")[..], [Ok(Command::Run(batch))] if batch.text.contains("$(nowhere)"))
    );
    assert!(feed(&mut script, ":setvar a two words")[0].is_err());
    assert!(feed(&mut script, ":setvar SQLCMDUSER me")[0].is_err());
}

#[test]
fn commands() {
    let mut script = script(false);
    let mut one = |line: &str| feed(&mut script, line).pop().unwrap();
    assert_eq!(one(":r load.sql"), Ok(Command::Include("load.sql".into())));
    assert_eq!(one(":R \"a b.sql\""), Ok(Command::Include("a b.sql".into())));
    assert_eq!(one(":out STDOUT"), Ok(Command::Out(OutputTarget::Stdout)));
    assert_eq!(one(":Error x.log"), Ok(Command::Error(OutputTarget::File("x.log".into()))));
    assert_eq!(one(":On Error Exit"), Ok(Command::OnError(true)));
    assert_eq!(one(":on error ignore"), Ok(Command::OnError(false)));
    assert_eq!(one("quit"), Ok(Command::Quit));
    assert_eq!(one(":Exit"), Ok(Command::Quit));
    assert_eq!(one("!!ls -l"), Ok(Command::Shell("ls -l".into())));
    assert_eq!(one(":!! ls"), Ok(Command::Shell("ls".into())));
    assert_eq!(one("\\dt"), Ok(Command::Question("\\dt".into())));
    for wrong in
        [":r", ":on error stop", ":frobnicate", ":list x", ":connect other", ":xml on", ":ed", "!!"]
    {
        assert!(one(wrong).is_err(), "{wrong}");
    }
    assert!(
        one(":connect other").is_err_and(|why| why.contains("-S")),
        "the way to another server"
    );
}

#[test]
fn exit_with_a_query_runs_the_batch_with_it() {
    let mut script = script(false);
    let commands = feed(&mut script, "declare @n int = 3\nEXIT(select @n)");
    assert!(
        matches!(&commands[..], [Ok(Command::RunAndQuit(batch, true))] if batch.text == "declare @n int = 3\nselect @n\n")
    );
    let commands = feed(&mut script, "select 1\n:exit()");
    assert!(
        matches!(&commands[..], [Ok(Command::RunAndQuit(batch, false))] if batch.text == "select 1\n")
    );
    // Words of T-SQL are no commands.
    assert_eq!(feed(&mut script, "exitcode\nquit_all\n::fn_x\nselect exit from t"), []);
}

#[test]
fn a_complaint_or_a_question_leaves_the_batch() {
    let mut script = script(true);
    assert_eq!(feed(&mut script, "select *").len(), 0);
    for line in [":nonsense", ":r", "\\d t", ".tables", ":list", ":setvar a 1", "\\nonsense"] {
        assert_eq!(feed(&mut script, line).len(), 1, "{line}");
        assert_eq!(script.text(), "select *\n", "{line}");
    }
    assert_eq!(feed(&mut script, ":reset"), [Ok(Command::Done)]);
    assert!(script.is_empty());
}

#[test]
fn questions_of_a_script_come_between_batches_only() {
    let mut script = script(false);
    assert_eq!(feed(&mut script, "select a from dbo\n.tables\nshow tables"), []);
    let mut script = super::tests::script(false);
    assert_eq!(feed(&mut script, "show databases").len(), 0, "it may be a procedure");
    let mut typed = super::tests::script(true);
    assert_eq!(
        feed(&mut typed, "show databases;"),
        [Ok(Command::Question("show databases".into()))]
    );
    assert_eq!(feed(&mut typed, "desc t"), [Ok(Command::Question("desc t".into()))]);
}

#[test]
fn each_line_knows_its_place() {
    let mut script = script(false);
    let file = |name: &str, line| SourceLine { file: Some(name.into()), line };
    let mut last = None;
    let lines = [
        ("a.sql", 4, "one"),
        ("a.sql", 5, "two"),
        ("b.sql", 1, "three"),
        ("b.sql", 2, "four"),
        ("a.sql", 7, "five"),
        ("a.sql", 8, "go"),
    ];
    for (name, line, text) in lines {
        last = script.line(text, &file(name, line)).unwrap();
    }
    let Some(Command::Run(batch)) = last else { panic!("{last:?}") };
    let places: Vec<SourceLine> = (1..=5).map(|line| batch.place(line)).collect();
    assert_eq!(
        places,
        [file("a.sql", 4), file("a.sql", 5), file("b.sql", 1), file("b.sql", 2), file("a.sql", 7)]
    );
}

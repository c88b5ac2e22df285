//! What a script's commands and the prompt's backslash commands do: files, output, the shell,
//! plans, settings of the prompt.

use super::{EXIT_ERROR, EXIT_NO_NUMBER, EXIT_NO_ROW, Flow, MAX_DEPTH, Runner, create};
use crate::source_line::SourceLine;
use crate::sql::meta::{self, MetaReply};
use crate::sql::plan;
use crate::sql::printer::{PrintedBatch, Stream, prefix};
use crate::sql::script::{self, Batch, Command};
use engine::{ResultRows, Sink};
use std::path::Path;

impl Runner<'_> {
    pub(super) fn command(&mut self, command: Command, place: &SourceLine) -> Flow {
        match command {
            Command::Run(batch) => {
                let came = self.run(batch, false);
                if came.code > 0 && self.stop_on_error { Flow::End } else { self.flow() }
            }
            Command::RunAndQuit(batch, asks) => {
                let came = self.run(batch, asks);
                if asks && self.exit.is_none() {
                    self.exit = Some(match came {
                        PrintedBatch { code: 1.., .. } => EXIT_ERROR,
                        PrintedBatch { rows: false, .. } => EXIT_NO_ROW,
                        PrintedBatch { last: None, .. } => EXIT_NO_NUMBER,
                        PrintedBatch { last: Some(number), .. } => (number & 0xff) as u8,
                    });
                }
                Flow::End
            }
            Command::Include(name) => self.include(Path::new(&name), place),
            Command::Out(target) => self.out(&target, place),
            Command::Error(target) => match self.stream(&target) {
                Ok(stream) => {
                    self.printer.set_errors(stream);
                    self.flow()
                }
                Err(text) => self.complain(&format!("{}{text}", prefix(place))),
            },
            Command::OnError(exit) => {
                self.stop_on_error = exit;
                Flow::On
            }
            Command::Show(text) => self.show(&text),
            Command::Done => Flow::On,
            Command::Quit => Flow::End,
            Command::Shell(command) => self.shell(&command, place),
            Command::Question(question) => self.question(&question, place),
        }
    }

    fn show(&mut self, text: &str) -> Flow {
        self.printer.print(text);
        self.printer.finish();
        self.flow()
    }

    fn include(&mut self, name: &Path, place: &SourceLine) -> Flow {
        if self.depth >= MAX_DEPTH {
            return self.complain(&format!("{}:r is nested too deep.", prefix(place)));
        }
        self.name_files = true;
        self.depth += 1;
        let flow = self.included(name);
        self.depth -= 1;
        // What goes wrong in a file ends that file; somebody who types goes on.
        if self.interactive && self.depth == 0 { self.flow() } else { flow }
    }

    fn out(&mut self, target: &script::OutputTarget, place: &SourceLine) -> Flow {
        if *target == script::OutputTarget::Stdout {
            self.results_to_stdout();
            return self.flow();
        }
        match self.stream(target) {
            Ok(stream) => {
                self.printer.set_results(stream, matches!(target, script::OutputTarget::File(_)));
                self.to_stdout = false;
                self.flow()
            }
            Err(text) => self.complain(&format!("{}{text}", prefix(place))),
        }
    }

    fn stream(&self, target: &script::OutputTarget) -> Result<Stream, String> {
        match target {
            script::OutputTarget::Stdout => Ok(Stream::stdout(self.page(false))),
            script::OutputTarget::Stderr => Ok(Stream::stderr(self.args.code_pages.streams)),
            script::OutputTarget::File(name) => create(Path::new(name), self.page(true)),
        }
    }

    fn shell(&mut self, command: &str, place: &SourceLine) -> Flow {
        match self.args.safe.as_deref() {
            Some("1") => {
                self.code = self.code.max(1);
                self.say(&format!("{}!! is disabled by -X1.", prefix(place)));
                return Flow::End;
            }
            Some(_) => {
                self.say(&format!("{}!! is disabled by -X.", prefix(place)));
                return self.flow();
            }
            None => {}
        }
        self.printer.finish();
        match std::process::Command::new("sh").args(["-c", command]).status() {
            Ok(_) => self.flow(),
            Err(error) => self.complain(&format!("{}!!: {error}", prefix(place))),
        }
    }

    fn question(&mut self, question: &str, place: &SourceLine) -> Flow {
        match meta::ask(question, &*self.target.catalogue(), self.script.text()) {
            Err(text) => self.complain(&format!("{}{text}", prefix(place))),
            Ok(MetaReply::Answers(answers)) => {
                self.settle();
                for answer in answers {
                    let shown = self.printer.columns(&answer.columns);
                    let rows = answer
                        .rows
                        .iter()
                        .try_for_each(|row| self.printer.rows(&ResultRows::one(row)));
                    if shown.and(rows).is_err() {
                        break;
                    }
                }
                self.printer.finish();
                self.flow()
            }
            Ok(MetaReply::Text(text)) => self.show(&text),
            Ok(MetaReply::Run(text)) => {
                self.run(Batch::of(text), false);
                self.flow()
            }
            Ok(MetaReply::Go) => match self.script.end() {
                Ok(None) => Flow::On,
                Ok(Some(batch)) => self.command(Command::Run(batch), place),
                Err(text) => self.complain(&text),
            },
            Ok(MetaReply::Plan { text, measured }) => {
                let text = text.unwrap_or_else(|| self.script.text().to_owned());
                self.plan(&text, measured)
            }
            Ok(MetaReply::Reset) => {
                self.script.reset();
                Flow::On
            }
            Ok(MetaReply::Quit) => Flow::End,
            Ok(MetaReply::Include(name)) => self.include(Path::new(&name), place),
            Ok(MetaReply::Out(target)) => self.out(&target, place),
            Ok(MetaReply::Shell(command)) => self.shell(&command, place),
            Ok(MetaReply::Timing(on)) => {
                self.timing = on.unwrap_or(!self.timing);
                self.show(if self.timing { "Timing is on.\n" } else { "Timing is off.\n" })
            }
            Ok(MetaReply::Pager(on)) => {
                self.paging = on.unwrap_or(!self.paging);
                if self.to_stdout {
                    self.results_to_stdout();
                }
                self.show(if self.paging { "The pager is on.\n" } else { "The pager is off.\n" })
            }
            Ok(MetaReply::Format(format)) => {
                self.format = format;
                Flow::On
            }
        }
    }

    /// Draws the plans of a batch; its errors are shown as those of a batch that runs.
    fn plan(&mut self, text: &str, measured: bool) -> Flow {
        if text.trim().is_empty() {
            return self
                .complain("There is no batch yet: \\plan QUERY, or \\plan after its lines.");
        }
        let drawn = plan::draw(&mut self.target, text, measured);
        self.printer.begin(Batch::of(text.to_owned()), false);
        for message in drawn.messages.iter().filter(|message| message.number == 0) {
            let _ = self.printer.message(message);
        }
        for error in &drawn.errors {
            let _ = self.printer.error(error);
        }
        let came = self.printer.finish();
        self.code = self.code.max(came.code);
        if came.code > 0 && self.stop_on_error {
            return Flow::End;
        }
        self.show(&drawn.text)
    }
}

//! The message at the end of a run of studies: what each study means, or why the run has stopped.
//! It goes to a webhook (`http`, `https`) or as a mail (`smtp`, `smtps`; feature `mail`). An
//! address is checked when it is made, so before the studies run. What is secret in an address
//! (passwords, the path of a webhook) is in no message of this module.

#[cfg(feature = "mail")]
mod smtp;
#[cfg(feature = "notify")]
mod webhook;

use crate::LabError;
use crate::results::Results;

/// Where the message goes.
pub struct Address(Kind);

#[cfg(feature = "notify")]
enum Kind {
    Webhook(webhook::Webhook),
    #[cfg(feature = "mail")]
    Mail(Box<smtp::Mail>),
}

#[cfg(feature = "notify")]
impl Address {
    /// Reads an address. Errors say what is wrong with it and do not repeat it.
    pub fn parse(text: &str) -> Result<Address, LabError> {
        let wrong = |why: String| LabError::Request(format!("--notify: {why}"));
        let scheme = text.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
        let kind = match scheme.as_deref() {
            None => Err("this is not a URL".into()),
            Some("http" | "https") => webhook::Webhook::new(text).map(Kind::Webhook),
            #[cfg(feature = "mail")]
            Some("smtp" | "smtps") => smtp::Mail::new(text).map(|mail| Kind::Mail(Box::new(mail))),
            #[cfg(not(feature = "mail"))]
            Some("smtp" | "smtps") => {
                Err("this build sends no mails: build it with --features mail, or give a webhook"
                    .into())
            }
            Some(_) => Err("the URL must begin with http://, https://, smtp:// or smtps://".into()),
        };
        kind.map(Address).map_err(wrong)
    }

    /// Says how the run went. Errors: the receiver cannot be reached or refuses.
    pub fn send(&self, outcome: &Result<Results, LabError>) -> Result<(), LabError> {
        let (subject, details) = (subject(outcome), details(outcome));
        let sent = match &self.0 {
            Kind::Webhook(hook) => hook.send(&format!("{subject}.\n{details}")),
            #[cfg(feature = "mail")]
            Kind::Mail(mail) => mail.send(&subject, details),
        };
        sent.map_err(LabError::Request)
    }
}

/// This build sends nothing, so there is no address.
#[cfg(not(feature = "notify"))]
enum Kind {}

#[cfg(not(feature = "notify"))]
impl Address {
    /// Refuses every address.
    pub fn parse(_: &str) -> Result<Address, LabError> {
        Err(LabError::Request("--notify: this build sends no messages (feature notify)".into()))
    }

    /// Cannot be called.
    pub fn send(&self, _: &Result<Results, LabError>) -> Result<(), LabError> {
        match self.0 {}
    }
}

/// How it went, in one line.
#[cfg(feature = "notify")]
fn subject(outcome: &Result<Results, LabError>) -> String {
    let Ok(results) = outcome else { return "Ringwood lab: the run has stopped".into() };
    // A study may have run on several targets and devices.
    let mut names: Vec<&str> = results.studies.iter().map(|s| s.study.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    match names.len() {
        1 => "Ringwood lab: 1 study has ended".into(),
        n => format!("Ringwood lab: {n} studies have ended"),
    }
}

/// What each study means, or the error.
#[cfg(feature = "notify")]
fn details(outcome: &Result<Results, LabError>) -> String {
    match outcome {
        Ok(results) => {
            let line = |s: &crate::results::StudyResult| {
                format!("{} ({}, {}): {}\n", s.study, s.target, s.device, s.meaning)
            };
            results.studies.iter().map(line).collect()
        }
        Err(error) => format!("{error}\nIt can go on with --resume.\n"),
    }
}

#[cfg(all(test, feature = "notify"))]
mod tests;

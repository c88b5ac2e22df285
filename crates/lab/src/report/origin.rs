//! What a report says of itself: when, by which build and command, on which machine.

use super::svg::escape;
use crate::machine::Machine;
use crate::results::{Results, StudyResult};

/// Name and value of everything that is known, in order; for the page and for the terminal.
pub(super) fn lines(results: &Results) -> Vec<(&'static str, String)> {
    let origin = &results.origin;
    let build = match origin.commit.as_str() {
        "" => results.ringwood.clone(),
        commit => match commit.strip_suffix('+') {
            Some(commit) => {
                format!("{}, commit {commit} with changes that are not committed", results.ringwood)
            }
            None => format!("{}, commit {commit}", results.ringwood),
        },
    };
    let utc = if origin.begun.is_empty() { String::new() } else { format!("{} UTC", origin.begun) };
    let seed = origin
        .seed
        .map_or_else(String::new, |seed| format!("{seed} (repeat the order with --seed)"));
    let mut lines = vec![
        ("begun", utc),
        ("Ringwood", build),
        ("command", origin.command.clone()),
        ("seed", seed),
    ];
    lines.extend(machine(&results.machine));
    lines.push(("processor time taken by the host", steal(&results.studies)));
    lines.retain(|(_, value)| !value.is_empty());
    lines
}

fn machine(m: &Machine) -> Vec<(&'static str, String)> {
    let cpu = if m.cpu.is_empty() { "unknown processor" } else { &m.cpu };
    let cache = match m.write_cache.as_str() {
        "" => String::new(),
        cache => format!("the kernel takes its cache for {cache}, scheduler {}", m.scheduler),
    };
    let disk =
        format!("sectors of {} bytes, physically {}; {cache}", m.sector_logical, m.sector_physical);
    vec![
        (
            "machine",
            format!(
                "{} cores, {cpu}, {:.0} GB, kernel {}",
                m.cores,
                m.memory as f64 / 1e9,
                m.kernel
            ),
        ),
        (
            "file system",
            [m.file_system.as_str(), &m.mount_options].join(", ").trim_end_matches(", ").to_owned(),
        ),
        ("disk", disk.trim_end_matches("; ").to_owned()),
        (
            "durable write before the run",
            format!(
                "4 KiB {:.0} us, 60 KiB {:.0} us (medians)",
                m.durable_write_us, m.durable_write_60k_us
            ),
        ),
    ]
}

/// The studies' shares, from the least to the most.
fn steal(studies: &[StudyResult]) -> String {
    let known: Vec<f64> = studies.iter().filter_map(|s| s.steal).collect();
    let Some((low, high)) = stats::range(&known) else { return String::new() };
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    if percent(low) == percent(high) {
        percent(low)
    } else {
        format!("{} to {}", percent(low), percent(high))
    }
}

/// As a table of the page.
pub(super) fn html(results: &Results) -> String {
    let rows = lines(results).into_iter().map(|(name, value)| {
        format!("<tr><th>{}</th><td>{}</td></tr>", escape(name), escape(&value))
    });
    format!("<table class=\"origin\">{}</table>", rows.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::ResultsOrigin;

    #[test]
    fn what_is_known_is_said() {
        let results = Results {
            ringwood: "0.1.0".into(),
            origin: ResultsOrigin {
                begun: "2026-11-23 07:19:52".into(),
                commit: "0123456789ab+".into(),
                command: "ringwood lab run all".into(),
                seed: Some(4711),
                ..ResultsOrigin::default()
            },
            machine: Machine {
                cores: 2,
                file_system: "ext4".into(),
                mount_options: "rw,relatime".into(),
                write_cache: "write back".into(),
                scheduler: "none".into(),
                ..Machine::default()
            },
            studies: [0.001, 0.02]
                .map(|s| StudyResult { steal: Some(s), ..StudyResult::default() })
                .into(),
        };
        let lines = lines(&results);
        let value = |name: &str| lines.iter().find(|l| l.0 == name).map(|l| l.1.as_str());
        assert_eq!(value("begun"), Some("2026-11-23 07:19:52 UTC"));
        assert_eq!(
            value("Ringwood"),
            Some("0.1.0, commit 0123456789ab with changes that are not committed")
        );
        assert_eq!(value("file system"), Some("ext4, rw,relatime"));
        assert!(value("disk").unwrap().contains("write back") && value("command").is_some());
        assert_eq!(value("processor time taken by the host"), Some("0.1 % to 2.0 %"));
        assert_eq!(value("seed"), Some("4711 (repeat the order with --seed)"));
        // Results of before know less, and a build without git has no commit.
        let old = super::lines(&Results { ringwood: "0.1.0".into(), ..Results::default() });
        assert!(old.iter().all(|l| l.0 != "begun" && l.0 != "command" && l.0 != "seed"));
        assert_eq!(old[0], ("Ringwood", "0.1.0".into()));
    }
}

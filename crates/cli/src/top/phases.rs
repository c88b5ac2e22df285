//! The phases of requests between two pictures, while they are measured.

use super::frame::{Line, Style, columns};
use super::rates::{BetweenPictures, count, each};
use engine::phases::percentile;
use engine::status::PhaseStatus;

/// What was counted since an earlier picture; all of it where it was begun again meanwhile.
fn since(now: &PhaseStatus, before: Option<&PhaseStatus>) -> PhaseStatus {
    let Some(before) = before.filter(|before| before.count <= now.count) else {
        return now.clone();
    };
    let classes =
        now.classes.iter().zip(&before.classes).map(|(now, was)| now.saturating_sub(*was));
    PhaseStatus {
        name: now.name.clone(),
        count: now.count - before.count,
        ns: now.ns.saturating_sub(before.ns),
        cpu_ns: now.cpu_ns.saturating_sub(before.cpu_ns),
        max_ns: now.max_ns,
        classes: classes.collect(),
    }
}

/// Microseconds as people read them: with a place after the point where they are few.
fn short(ns: Option<u64>) -> String {
    match ns {
        None => "-".into(),
        Some(ns) if ns < 100_000 => format!("{:.1} us", ns as f64 / 1e3),
        Some(ns) => each(ns / 1000, 1),
    }
}

/// A line for each phase that requests were in.
pub fn phases(b: &BetweenPictures<'_>) -> Vec<Line> {
    let earlier = |name: &str| b.before.phases.iter().find(|phase| phase.name == name);
    let list: Vec<PhaseStatus> =
        b.now.phases.iter().map(|now| since(now, earlier(&now.name))).collect();
    if list.iter().all(|phase| phase.count == 0) {
        return Vec::new();
    }
    let head = [
        ("request phase", 16, false),
        ("requests/s", 12, true),
        ("ms/s", 8, true),
        ("each", 9, true),
        ("cpu each", 9, true),
        ("p50", 9, true),
        ("p99", 9, true),
    ];
    let mut lines = vec![Line::default(), Line::of(Style::Dim, columns(&head))];
    for phase in list.iter().filter(|phase| phase.count > 0) {
        let cells = [
            (phase.name.as_str(), 16, false),
            (&*count(b.rate(0, phase.count)), 12, true),
            (&*count(b.rate(0, phase.ns) / 1e6), 8, true),
            (&*short(phase.ns.checked_div(phase.count)), 9, true),
            (&*short(phase.cpu_ns.checked_div(phase.count)), 9, true),
            (&*short(percentile(&phase.classes, 0.5)), 9, true),
            (&*short(percentile(&phase.classes, 0.99)), 9, true),
        ];
        lines.push(Line::of(Style::Plain, columns(&cells)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::status::InstanceStatus;

    fn picture(at_us: u64, requests: u64) -> InstanceStatus {
        let mut classes = vec![0; 160];
        // 896 to 1,024 ns.
        classes[35] = requests;
        let run = PhaseStatus {
            name: "RUN".into(),
            count: requests,
            ns: 900 * requests,
            cpu_ns: 700 * requests,
            max_ns: 1_000,
            classes,
        };
        let send = PhaseStatus { name: "SEND".into(), ..PhaseStatus::default() };
        InstanceStatus { pid: 1, at_us, phases: vec![run, send], ..InstanceStatus::default() }
    }

    #[test]
    fn phases_are_those_between_the_pictures() {
        let (before, now) = (picture(1_000_000, 50), picture(3_000_000, 250));
        let text: Vec<String> =
            phases(&BetweenPictures::new(&before, &now)).iter().map(Line::plain).collect();
        assert_eq!(text.len(), 3, "{text:?}");
        let words: Vec<&str> = text[2].split_whitespace().collect();
        assert_eq!(
            words,
            ["RUN", "100", "0.1", "0.9", "us", "0.7", "us", "1.0", "us", "1.0", "us"]
        );
        // Switched on again.
        let text: Vec<String> = phases(&BetweenPictures::new(&picture(1_000_000, 900), &now))
            .iter()
            .map(Line::plain)
            .collect();
        assert!(text[2].contains(" 125 "), "{text:?}");
        assert!(phases(&BetweenPictures::new(&now, &now)).is_empty());
        assert!(
            phases(&BetweenPictures::new(&InstanceStatus::default(), &InstanceStatus::default()))
                .is_empty()
        );
    }
}

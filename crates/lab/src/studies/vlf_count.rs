//! vlf-count: what 20,000 virtual log files cost instead of 16, and what the author's remedy gives
//! back. The log is made as he made it: 512 KB to begin with, small steps, a dummy table of
//! char(8000) filled until the log has half its size (at quick scale eight ninths), then truncation
//! and one expansion. Before each measured step the end of the log is moved into the part of small
//! VLFs: after the expansion it would go on in the large part first, and a study of short runs
//! would never come back. How often each step changed VLF is printed, and the study fails where the
//! many did not change it at least 20 times as often as the few.

use crate::study::{
    Arm, ArmDevice, Baseline, CellRef, Check, Claim, Compare, CounterFigure, PrintedFigure,
    PublishedFigure, Scale, Study, StudyNeeds, StudyStep,
};
use targets::work::{Config, DataLayout, Knob, LogBlock, LogLayout, TsqlWork, Work};

const FACTOR: &str = "VLFs";
const FEW: &str = "16";
const MIX: &str = "mix of short transactions";
/// The post names triggers beside log backups: those of its time read the rows before a change out
/// of the log.
const TRIGGER: &str = "update, trigger that reads inserted and deleted";
/// Sessions of the mix.
const SESSIONS: u32 = 4;
/// The many must change VLF so many times as often.
const OFTEN: f64 = 20.0;
/// Log of a changed row at most: before and after of `c_data`, headers, and what a rollback adds,
/// KB.
const ROW_KB: u64 = 2;

/// Sizes of a scale. Rows and log shrink together; the number of VLFs does not (but for tests).
struct Sizes {
    rows: u64,
    /// VLFs of the many.
    many: u64,
    /// Growth step of that log, KB; two VLFs a step.
    step_kb: u64,
    /// The part of the log that one expansion makes, KB: as large as the small VLFs together, as
    /// the author had it. At quick scale less, as the end of the log is moved through it again and
    /// again.
    large_kb: u64,
    data_kb: u64,
    memory: u64,
    commit_memory: bool,
    /// Least seconds of a measured step.
    least: f64,
    /// Log of a measured log backup, KB.
    backup_kb: u64,
    /// Transactions of each session of the mix.
    mix: u64,
}

fn sizes(scale: Scale) -> Sizes {
    let (rows, many, step_kb, data_mb, memory) = match scale {
        Scale::Tiny => (3_000, 1_000, 128, 32, 64 << 20),
        Scale::Quick => (100_000, 20_000, 128, 512, 1 << 30),
        Scale::Standard => (1_000_000, 20_000, 256, 6 << 10, 4 << 30),
        Scale::Paper => (3_000_000, 20_000, 512, 20 << 10, 8 << 30),
    };
    let commit_memory = matches!(scale, Scale::Standard | Scale::Paper);
    let (least, backup_kb, mix) = match scale {
        Scale::Tiny => (0.0, 2 << 10, 20),
        Scale::Quick => (super::LEAST, 144 << 10, 250),
        Scale::Standard | Scale::Paper => (super::LEAST, 512 << 10, 5_000),
    };
    let small_kb = step_kb * many / 2;
    let large_kb = if scale == Scale::Quick { small_kb / 8 } else { small_kb };
    let data_kb = data_mb << 10;
    Sizes { rows, many, step_kb, large_kb, data_kb, memory, commit_memory, least, backup_kb, mix }
}

impl Sizes {
    /// The part of the log that has small VLFs where there are many, KB.
    fn small_kb(&self) -> u64 {
        self.step_kb * self.many / 2
    }

    /// The log, KB.
    fn log_kb(&self) -> u64 {
        self.small_kb() + self.large_kb
    }

    /// Room that a step may need, KB.
    fn room_kb(&self) -> u64 {
        (self.rows * ROW_KB).max(self.backup_kb + self.backup_kb / 4).min(self.small_kb() * 8 / 10)
    }
}

/// The measured steps, each in the small half of the log.
fn steps(s: &Sizes) -> Vec<StudyStep> {
    let head = TsqlWork::PlaceHead { below_kb: s.small_kb(), room_kb: s.room_kb() };
    let place = || StudyStep::prepare(head.clone());
    let kept = TsqlWork::KeepHead { below_kb: s.small_kb(), room_kb: s.room_kb() };
    let kept = || vec![Work::Tsql(kept.clone())];
    let fill = TsqlWork::FillLog(s.backup_kb);
    let changes = [CounterFigure::VlfChanges];
    let turns = vec![TsqlWork::UpdateBack.into(), Work::Update];
    let some = |back| TsqlWork::UpdateSome { back };
    vec![
        StudyStep::prepare(TsqlWork::Customers),
        place(),
        StudyStep::measure("insert", Work::InsertSelect)
            .repeated(s.least, kept())
            .counting(&changes),
        StudyStep::prepare(Work::Checkpoint),
        place(),
        StudyStep::measure("update", Work::Update)
            .in_turns(s.least, turns)
            .between(kept())
            .counting(&changes),
        StudyStep::prepare(Work::Checkpoint),
        place(),
        StudyStep::prepare(TsqlWork::MakeTrigger),
        StudyStep::measure(TRIGGER, some(false))
            .in_turns(s.least, vec![some(true).into(), some(false).into()])
            .between(kept())
            .counting(&changes),
        StudyStep::prepare(TsqlWork::DropTrigger),
        StudyStep::prepare(Work::Checkpoint),
        place(),
        StudyStep::measure("delete", TsqlWork::DeleteRolledBack)
            .repeated(s.least, vec![])
            .counting(&changes),
        StudyStep::prepare(Work::Checkpoint),
        place(),
        StudyStep::prepare(fill.clone()),
        StudyStep::measure("log backup", Work::LogBackup).repeated(s.least, vec![fill.into()]),
        StudyStep::prepare(TsqlWork::MakeMix),
        place(),
        StudyStep::measure(MIX, TsqlWork::Mix(SESSIONS, s.mix))
            .repeated(s.least, vec![])
            .counting(&changes),
        place(),
        StudyStep::measure("recovery", Work::Recovery(s.rows)).repeated(s.least, vec![]),
        StudyStep::prepare(Work::LogBackup),
    ]
}

fn arm(s: &Sizes, level: &str, many: bool, remedied: bool) -> Arm {
    let log = if many {
        LogLayout {
            initial_kb: 512,
            growth_kb: s.step_kb,
            fill_to_kb: s.small_kb(),
            final_kb: s.log_kb(),
        }
    } else {
        LogLayout {
            initial_kb: s.log_kb(),
            growth_kb: s.log_kb() / 16,
            fill_to_kb: 0,
            final_kb: s.log_kb(),
        }
    };
    let mut steps = steps(s);
    if remedied {
        steps.insert(0, StudyStep::prepare(TsqlWork::Remedy { to_kb: s.log_kb() }));
    }
    Arm {
        factor: FACTOR,
        level: level.into(),
        config: Config {
            key: level.replace(' ', "-"),
            memory: s.memory,
            data: DataLayout { files: 1, arrays: 1, size_kb: s.data_kb },
            log,
            block: LogBlock::Default,
            full_recovery: true,
            customers: s.rows,
            keep: true,
            commit_memory: s.commit_memory,
            limit_s: 600,
            processors: None,
        },
        steps,
        on: ArmDevice::Any,
    }
}

/// The author's seconds: insert, update, delete.
const PUBLISHED: [(&str, f64, f64); 3] =
    [("insert", 281.0, 1069.0), ("update", 174.0, 1554.0), ("delete", 193.0, 936.0)];

fn claims(many: &str, remedied: Option<&str>) -> Vec<Claim> {
    let cell = |level: &str, measure: &str| CellRef::new(FACTOR, level, measure);
    let measures = ["insert", "update", TRIGGER, "delete", "recovery", "log backup"];
    let mut claims: Vec<Claim> = measures
        .iter()
        .map(|measure| {
            let group = "Time with many VLFs against 16";
            let claim =
                Claim::at_most(group, measure, cell(many, measure), cell(FEW, measure), 1.03);
            match PUBLISHED.iter().find(|p| p.0 == *measure) {
                Some((_, few, many)) => claim.published(many / few),
                None => claim,
            }
        })
        .collect();
    // A rate: the few above the many. Part II of the post found no significant difference, in a
    // chart without figures.
    let group = "Rate of short transactions with 16 VLFs against many, the control";
    claims.push(Claim::at_most(group, MIX, cell(FEW, MIX), cell(many, MIX), 1.03));
    for measure in measures.iter().filter(|_| remedied.is_some()) {
        let remedied = remedied.unwrap_or_default();
        claims.push(Claim {
            group: "Time before the remedy (shrink, then grow in one step) against after it",
            what: (*measure).into(),
            compare: Compare::Ratio(cell(many, measure), cell(remedied, measure)),
            at_least: None,
            at_most: Some(1.03),
            published: None,
            devices: &[],
        });
    }
    claims
}

fn published(scale: Scale, many: &str) -> Vec<PublishedFigure> {
    // Seconds of his sizes stand beside seconds of the same sizes only.
    let printed = |level: &str, measure: &str, seconds: f64, few: f64| PublishedFigure {
        cell: CellRef::new(FACTOR, level, measure),
        printed: match scale {
            Scale::Paper => PrintedFigure::Figure(seconds, "s"),
            _ => PrintedFigure::Ratio(seconds / few),
        },
        device: None,
    };
    let both = |(measure, few, large): &(&str, f64, f64)| {
        [printed(FEW, measure, *few, *few), printed(many, measure, *large, *few)]
    };
    PUBLISHED.iter().flat_map(both).collect()
}

/// The published steps must have run in the small VLFs.
fn checks(scale: Scale, many: &str) -> Vec<Check> {
    // The delete of a tiny study logs less than 20 VLFs.
    let checked = PUBLISHED.iter().map(|p| p.0).filter(|m| scale != Scale::Tiny || *m != "delete");
    let check = |measure: &str| {
        let measure = format!("{measure}, VLF changes");
        Check {
            cell: CellRef::new(FACTOR, many, &measure),
            times: OFTEN,
            other: CellRef::new(FACTOR, FEW, &measure),
            otherwise: "the steps did not run in the small VLFs",
        }
    };
    checked.map(check).collect()
}

/// The study.
pub fn study(scale: Scale) -> Study {
    let s = sizes(scale);
    let many = s.many.to_string();
    let remedied = format!("{many}, remedied");
    // The remedy takes a database of its own: not at quick scale.
    let with_remedy = scale != Scale::Quick;
    let mut arms = vec![arm(&s, FEW, false, false), arm(&s, &many, true, false)];
    if with_remedy {
        arms.push(arm(&s, &remedied, true, true));
    }
    let log_bytes = s.log_kb() << 10;
    let databases = arms.len() as u64;
    Study {
        name: "vlf-count",
        question: "What do insert, update, triggers, delete, log backup and restart recovery cost on a log of 20,000 virtual log files instead of 16?",
        source: "Linchi Shea, \"Performance impact: a large number of virtual log files\", parts I and II, SQL Server 2008",
        knob: Knob::LogPieces,
        sizes: format!(
            "{} customer rows, log {} MB, its end in the first {} MB before each step, buffer pool {} MB",
            s.rows,
            log_bytes >> 20,
            s.small_kb() >> 10,
            s.memory >> 20
        ),
        published_waits: vec![],
        claims: claims(&many, with_remedy.then_some(remedied.as_str())),
        checks: checks(scale, &many),
        arms,
        baselines: vec![Baseline { factor: FACTOR, to_factor: FACTOR, to_level: FEW.into() }],
        published: published(scale, &many),
        needs: StudyNeeds {
            // The databases, the rows as text, the run file of the sort that makes the clustered
            // index, and a backup of the log that is measured.
            disk: databases * (log_bytes + (s.data_kb << 10))
                + s.rows * 1_500
                + 2 * (s.backup_kb << 10),
            // Besides the buffer pool: that sort, which holds at most 1 GB.
            memory: s.memory + (512 << 20) + (s.rows * 1_000).min(1 << 30),
            // With the set-up of each database.
            seconds_per_run: match scale {
                Scale::Tiny => 4.0,
                Scale::Quick => 15.0,
                Scale::Standard => 180.0,
                Scale::Paper => 600.0,
            },
        },
        normalised: None,
        total: None,
        share: 1.0,
        models: vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The room of a step is in the small half at each scale, or the end of the log could not be
    /// placed there.
    #[test]
    fn each_step_has_room_in_the_small_half() {
        for scale in [Scale::Tiny, Scale::Quick, Scale::Standard, Scale::Paper] {
            let s = sizes(scale);
            assert!(s.room_kb() <= s.small_kb() * 9 / 10, "{}", scale.name());
            assert!(s.room_kb() >= s.rows, "{}: less than a KB a row", scale.name());
        }
    }
}

//! What ALTER DATABASE ... SET QUERY_STORE says, and its form in the database's settings: one
//! number for each option.

/// Whether queries are noted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoreState {
    #[default]
    Off = 0,
    ReadOnly = 1,
    ReadWrite = 2,
}

impl StoreState {
    /// All of them, by their numbers.
    pub const ALL: [(StoreState, &str); 3] = [
        (StoreState::Off, "OFF"),
        (StoreState::ReadOnly, "READ_ONLY"),
        (StoreState::ReadWrite, "READ_WRITE"),
    ];

    /// From its number.
    pub fn of(n: i64) -> StoreState {
        Self::ALL
            .iter()
            .find(|(state, _)| *state as i64 == n)
            .map_or(StoreState::Off, |(state, _)| *state)
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// Which queries are noted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CaptureMode {
    All = 1,
    /// Those that run often or long.
    #[default]
    Auto = 2,
    /// No new ones.
    None = 3,
    /// As QUERY_CAPTURE_POLICY says.
    Custom = 4,
}

impl CaptureMode {
    /// All of them, from number 1 on.
    pub const ALL: [(CaptureMode, &str); 4] = [
        (CaptureMode::All, "ALL"),
        (CaptureMode::Auto, "AUTO"),
        (CaptureMode::None, "NONE"),
        (CaptureMode::Custom, "CUSTOM"),
    ];

    fn of(n: i64) -> CaptureMode {
        Self::ALL
            .iter()
            .find(|(mode, _)| *mode as i64 == n)
            .map_or(CaptureMode::Auto, |(mode, _)| *mode)
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        Self::ALL[self as usize - 1].1
    }
}

/// All options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryStoreOptions {
    pub state: StoreState,
    pub flush_seconds: i64,
    pub interval_minutes: i64,
    pub max_megabytes: i64,
    pub stale_days: i64,
    pub max_plans: i64,
    pub capture: CaptureMode,
    /// SIZE_BASED_CLEANUP_MODE = AUTO.
    pub cleanup: bool,
    /// WAIT_STATS_CAPTURE_MODE.
    pub waits: bool,
    /// QUERY_CAPTURE_POLICY: executions, milliseconds of compiling and of executing, of which one
    /// is enough within so many hours.
    pub policy_executions: i64,
    pub policy_compile_ms: i64,
    pub policy_execution_ms: i64,
    pub policy_hours: i64,
}

impl Default for QueryStoreOptions {
    fn default() -> QueryStoreOptions {
        QueryStoreOptions {
            state: StoreState::Off,
            flush_seconds: 900,
            interval_minutes: 60,
            max_megabytes: 1000,
            stale_days: 30,
            max_plans: 200,
            capture: CaptureMode::Auto,
            cleanup: true,
            waits: true,
            policy_executions: 30,
            policy_compile_ms: 1000,
            policy_execution_ms: 100,
            policy_hours: 24,
        }
    }
}

impl QueryStoreOptions {
    /// As numbers with names.
    pub fn numbers(&self) -> [(&'static str, i64); 13] {
        [
            ("state", self.state as i64),
            ("flush", self.flush_seconds),
            ("interval", self.interval_minutes),
            ("max_mb", self.max_megabytes),
            ("stale", self.stale_days),
            ("max_plans", self.max_plans),
            ("capture", self.capture as i64),
            ("cleanup", self.cleanup.into()),
            ("waits", self.waits.into()),
            ("executions", self.policy_executions),
            ("compile_ms", self.policy_compile_ms),
            ("execution_ms", self.policy_execution_ms),
            ("hours", self.policy_hours),
        ]
    }

    /// Takes one of them.
    pub fn set(&mut self, name: &str, n: i64) {
        let place = match name {
            "state" => return self.state = StoreState::of(n),
            "capture" => return self.capture = CaptureMode::of(n),
            "cleanup" => return self.cleanup = n != 0,
            "waits" => return self.waits = n != 0,
            "flush" => &mut self.flush_seconds,
            "interval" => &mut self.interval_minutes,
            "max_mb" => &mut self.max_megabytes,
            "stale" => &mut self.stale_days,
            "max_plans" => &mut self.max_plans,
            "executions" => &mut self.policy_executions,
            "compile_ms" => &mut self.policy_compile_ms,
            "execution_ms" => &mut self.policy_execution_ms,
            "hours" => &mut self.policy_hours,
            _ => return,
        };
        *place = n.clamp(0, i64::from(i32::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_what_their_numbers_say() {
        let options = QueryStoreOptions {
            state: StoreState::ReadWrite,
            capture: CaptureMode::Custom,
            cleanup: false,
            interval_minutes: 5,
            ..QueryStoreOptions::default()
        };
        let mut read = QueryStoreOptions::default();
        options.numbers().iter().for_each(|(name, n)| read.set(name, *n));
        read.set("unknown", 7);
        assert_eq!(read, options);
        assert_eq!((read.state.word(), read.capture.word()), ("READ_WRITE", "CUSTOM"));
    }
}

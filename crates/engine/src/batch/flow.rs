//! Statements that the interpreter itself knows: messages and errors, waiting, SET options,
//! transactions, USE.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use syntax::ast::{
    Expr, ExprKind, IsolationLevel, NameOrVariable, RaisError, SetOption, Stmt, StmtKind,
    ThrowArgs, WaitFor,
};
use txn::Durability;
use types::convert::{Mode, convert};
use types::{DataType, DateOrder, Language, Len, SqlError, Value, msg};

use super::kind::kind_of;
use super::run::{Effect, Failure, Flow, Run};
use catalog::errors;
use catalog::messages::Message;
use instance::OfInstance;
use instance::messages::format::{format_message, to_text};
use logical::isolation::Isolation;
use session::output::{SessionChange, StatementKind};
use session::state::SessionCore;

/// Longest PRINT, in characters.
const MAX_PRINT: usize = 8000;
/// Values that RAISERROR may put into its text.
const MAX_SUBSTITUTIONS: usize = 20;

impl Run<'_> {
    /// Everything that is not a query, DML or an assignment.
    pub(super) fn other(&mut self, at: usize, stmt: &Stmt) -> Result<Flow, Failure> {
        match &stmt.kind {
            StmtKind::Print(value) => self.print(at, value)?,
            StmtKind::RaisError(raise) => return self.raise(at, raise),
            StmtKind::Throw(args) => return self.throw(at, args.as_deref()),
            StmtKind::WaitFor(wait) => {
                self.wait(at, wait)?;
                self.told(StatementKind::WaitFor, None)?;
                return Ok(Flow::Next);
            }
            StmtKind::Execute(execute) => return self.execute(at, execute),
            StmtKind::SetOption(option) => self.set_option(at, option)?,
            StmtKind::BeginTransaction(begin) => {
                let name = self.name_of(begin.name.as_ref())?.unwrap_or_default();
                let implicit = self.core.options.implicit_transactions;
                self.core.begin_tran(&name, implicit);
                self.core.succeeded(0);
            }
            StmtKind::Commit(commit) => {
                self.check_insert_exec(true)?;
                let delayed = commit.delayed_durability == Some(true);
                let durability = if delayed { Durability::Delayed } else { Durability::Full };
                self.core.commit_tran(durability)?;
                self.core.succeeded(0);
            }
            StmtKind::Rollback(name) => {
                self.check_insert_exec(false)?;
                let name = self.name_of(name.as_ref())?;
                self.core.rollback_tran(name.as_deref())?;
                self.core.succeeded(0);
            }
            StmtKind::SaveTransaction(name) => {
                let name = self.name_of(Some(name))?.unwrap_or_default();
                self.core.save_tran(&name)?;
                self.core.succeeded(0);
            }
            StmtKind::ExecuteAs { principal, until } => self.execute_as(principal, until)?,
            StmtKind::Revert { cookie } => self.revert(cookie.as_deref())?,
            StmtKind::Use(name) => self.use_database(at, &name.value)?,
            StmtKind::DeclareCursor(declare) => self.declare_cursor(at, declare, stmt.span)?,
            StmtKind::OpenCursor(name) => self.open_cursor(name)?,
            StmtKind::Fetch(fetch) => {
                self.fetch(at, fetch)?;
                return Ok(Flow::Next);
            }
            StmtKind::CloseCursor(name) => self.close_cursor(name)?,
            StmtKind::Deallocate(name) => {
                self.core.objects.cursors.deallocate(name)?;
                self.core.succeeded(0);
            }
            StmtKind::Shutdown { no_wait } => {
                self.shutdown(*no_wait)?;
                return Ok(Flow::Abort);
            }
            _ => return self.utility(stmt),
        }
        self.done(kind_of(&stmt.kind), None)?;
        Ok(Flow::Next)
    }

    /// 3915, 3916: what INSERT ... EXECUTE calls must not end the transaction that it is in.
    fn check_insert_exec(&self, commit: bool) -> Result<(), SqlError> {
        match self.core.run.insert_exec {
            Some(around) if commit && self.core.trancount() <= around => {
                Err(SqlError::of(msg::COMMIT_IN_INSERT_EXEC, []))
            }
            Some(_) if !commit => Err(SqlError::of(msg::ROLLBACK_IN_INSERT_EXEC, [])),
            _ => Ok(()),
        }
    }

    /// A statement of stmt/ or dbcc/.
    fn utility(&mut self, stmt: &Stmt) -> Result<Flow, Failure> {
        let batch = self.batch;
        let catching = self.catches();
        let variables = statements::Variables { scope: &batch.program.vars, values: self.vars };
        let line = stmt.span.line;
        let mut ctx = statements::StmtCtx {
            core: self.core,
            sink: self.sink,
            text: &batch.source,
            line,
            variables,
            catching,
        };
        let rows = ctx.run(stmt)?;
        self.core.succeeded(rows.unwrap_or(0));
        if !matches!(stmt.kind, StmtKind::Declare(_)) {
            self.done(kind_of(&stmt.kind), rows)?;
        }
        Ok(Flow::Next)
    }

    /// A name written out or held by a variable.
    fn name_of(&self, name: Option<&NameOrVariable>) -> Result<Option<String>, SqlError> {
        Ok(match name {
            None => None,
            Some(NameOrVariable::Name(name)) => Some(name.value.to_string()),
            Some(NameOrVariable::Variable(variable)) => {
                let (slot, _) = self.batch.program.vars.find(variable)?;
                Some(self.vars[slot].as_str().unwrap_or_default().to_string())
            }
        })
    }

    fn print(&mut self, at: usize, value: &Expr) -> Result<(), Failure> {
        let values = self.evaluate_at(at, &[value])?;
        let text = match values.first() {
            None | Some(Value::Null) => String::from(" "),
            Some(value) => {
                to_text(value, self.core.options.dialect)?.chars().take(MAX_PRINT).collect()
            }
        };
        let message = self.placed(at, SqlError::new(0, 0, 1, text));
        self.sink.message(&message)?;
        self.core.succeeded(0);
        Ok(())
    }

    fn raise(&mut self, at: usize, raise: &RaisError) -> Result<Flow, Failure> {
        let mut exprs = vec![&raise.message, &raise.severity, &raise.state];
        exprs.extend(&raise.args);
        let values = self.evaluate_at(at, &exprs)?;
        let [message, severity, state, args @ ..] = values.as_slice() else {
            return Err(SqlError::internal("RAISERROR has too few arguments").into());
        };
        if args.len() > MAX_SUBSTITUTIONS {
            return Err(SqlError::of(msg::TOO_MANY_SUBSTITUTIONS, [&MAX_SUBSTITUTIONS]).into());
        }
        let severity = severity.as_i64().unwrap_or(0);
        let state = match state.as_i64().unwrap_or(1) {
            state if state < 0 => 1,
            state => state.min(255) as u8,
        };
        let (number, text, known) = match message {
            Value::Str(format) => (50_000, format_message(format, args)?, None),
            Value::Null => (50_000, String::new(), None),
            number => {
                let found = user_message(self.core, number, severity, state)?;
                (found.id, format_message(&found.text, args)?, Some(found))
            }
        };
        // A negative severity is the message's own.
        let own = known.as_ref().map_or(0, |message| message.severity);
        let severity = if severity < 0 { own } else { severity.min(25) as u8 };
        let log = raise.log || known.is_some_and(|message| message.logged);
        if severity > 18 && !(raise.log && self.core.is_sysadmin()) {
            return Err(SqlError::of(msg::SEVERITY_NEEDS_SYSADMIN, []).into());
        }
        let mut error = SqlError::new(number, severity, state, text);
        if severity > 19 {
            error.after = vec![
                SqlError::of(msg::USER_ERROR_ENDS_PROCESS, [&self.core.spid(), &number, &severity]),
                killed(),
            ];
        }
        let error = self.placed(at, error);
        if log {
            // The error log is read by others.
            self.core.answers.settle()?;
            let source = format!("spid{}", self.core.spid());
            self.core.host().error_log().write(&source, &error.message);
        }
        if severity > 10 {
            return Err(Failure { error, effect: Effect::Raise });
        }
        let number = if raise.set_error { number } else { 0 };
        self.sink.message(&error)?;
        self.core.succeeded(0);
        self.core.run.results.error_number = number;
        self.done(StatementKind::RaisError, None)?;
        Ok(Flow::Next)
    }

    fn throw(&mut self, at: usize, args: Option<&ThrowArgs>) -> Result<Flow, Failure> {
        let Some(args) = args else {
            return match self.core.run.error().cloned() {
                Some(error) => Err(Failure { error, effect: Effect::Throw }),
                None => Err(SqlError::of(msg::THROW_OUTSIDE_CATCH, []).into()),
            };
        };
        let values = self.evaluate_at(at, &[&args.number, &args.message, &args.state])?;
        let [number, message, state] = values.as_slice() else {
            return Err(SqlError::internal("THROW takes three arguments").into());
        };
        let number = number.as_i64().unwrap_or(0);
        if !(50_000..=i64::from(i32::MAX)).contains(&number) {
            return Err(SqlError::of(msg::THROW_NUMBER, [&number]).into());
        }
        let message = if message.is_null() {
            String::new()
        } else {
            to_text(message, self.core.options.dialect)?
        };
        let state = state.as_i64().unwrap_or(1).clamp(0, 255) as u8;
        let error = self.placed(at, SqlError::new(number as i32, 16, state, message));
        Err(Failure { error, effect: Effect::Throw })
    }

    fn wait(&mut self, at: usize, wait: &WaitFor) -> Result<(), Failure> {
        let (WaitFor::Delay(expr) | WaitFor::Time(expr)) = wait;
        let values = self.evaluate_at(at, &[expr])?;
        let seconds = match wait {
            WaitFor::Delay(_) => values.first().and_then(seconds),
            WaitFor::Time(_) => None,
        };
        let time = seconds.or_else(|| values.first().and_then(time_of_day));
        let time = time.ok_or_else(|| bad_time(values.first()))?;
        let length = match wait {
            WaitFor::Delay(_) => time,
            WaitFor::Time(_) => {
                let (_, ticks) = catalog::clock::now_parts();
                let now = Duration::from_micros(u64::from(ticks) * 10_000 / 3);
                let day = Duration::from_secs(86_400);
                if time >= now { time - now } else { day - now + time }
            }
        };
        // Others may look for what was done before the pause.
        self.core.answers.settle()?;
        self.core.shared.pause_until(Instant::now() + length);
        self.core.check_cancel()?;
        self.core.succeeded(0);
        Ok(())
    }

    /// SHUTDOWN: no batch begins after this one, which ends here; the program that runs the
    /// instance closes it. WITH NOWAIT ends the batches of other sessions too.
    fn shutdown(&mut self, no_wait: bool) -> Result<(), Failure> {
        self.core.answers.settle()?;
        let instance = self.core.instance().clone();
        let how = if no_wait { "NOWAIT request" } else { "request" };
        let message = SqlError::of(msg::SHUT_DOWN_BY, [&how, &self.core.identity.login]);
        instance.error_log().write(&format!("spid{}", self.core.spid()), &message.message);
        instance.request_shutdown();
        if no_wait {
            instance.end_other_sessions(&self.core.shared);
        }
        self.sink.message(&message)?;
        Ok(())
    }

    fn use_database(&mut self, at: usize, name: &str) -> Result<(), Failure> {
        let db = self.core.instance().clone().database(name)?;
        db.check_usable()?;
        self.core.check_access(&db)?;
        let (old, new) = (self.core.db().name(), db.name());
        self.core.use_db(db)?;
        self.sink.changed(&SessionChange::Database { new: &new, old: &old })?;
        let message = SqlError::of(msg::DATABASE_CONTEXT_CHANGED, [&new]);
        self.sink.message(&self.placed(at, message))?;
        self.core.succeeded(0);
        Ok(())
    }

    pub(super) fn set_option(&mut self, at: usize, option: &SetOption) -> Result<(), Failure> {
        match option {
            SetOption::Switch { names, on } => {
                // All of a list or none.
                let mut options = self.core.options.clone();
                names.iter().try_for_each(|name| options.set_switch(name, *on))?;
                *self.core.options = options;
            }
            SetOption::Statistics { names, on } => {
                let mut options = self.core.options.clone();
                for name in names {
                    match name.as_str() {
                        "TIME" => options.statistics_time = *on,
                        "IO" => options.statistics_io = *on,
                        "PROFILE" => options.statistics_profile = *on,
                        "XML" => options.statistics_xml = *on,
                        _ => return Err(unknown_option(name).into()),
                    }
                }
                *self.core.options = options;
            }
            SetOption::IdentityInsert { table, on } => self.core.set_identity_insert(table, *on)?,
            SetOption::IsolationLevel(level) => {
                self.core.options.isolation = match level {
                    IsolationLevel::ReadUncommitted => Isolation::ReadUncommitted,
                    IsolationLevel::ReadCommitted => Isolation::ReadCommitted,
                    IsolationLevel::RepeatableRead => Isolation::RepeatableRead,
                    IsolationLevel::Snapshot => Isolation::Snapshot,
                    IsolationLevel::Serializable => Isolation::Serializable,
                };
                let number = self.core.options.isolation.number() as u8;
                self.core.shared.isolation.store(number, Ordering::Relaxed);
            }
            SetOption::Value { name, value } => self.set_value(at, name, value)?,
        }
        self.core.succeeded(0);
        Ok(())
    }

    fn set_value(&mut self, at: usize, name: &str, expr: &Expr) -> Result<(), Failure> {
        let value = match &expr.kind {
            ExprKind::Column(column) if column.qualifier.is_none() => {
                Value::str(&column.name.value)
            }
            _ => self.evaluate_at(at, &[expr])?.into_iter().next().unwrap_or(Value::Null),
        };
        let number = value.as_i64();
        let options = &mut self.core.options;
        match name {
            "LOCK_TIMEOUT" => options.lock_timeout = small(name, number, -1, i32::MAX)?,
            "ROWCOUNT" => {
                options.rowcount = small(name, number, 0, i32::MAX)?.unsigned_abs().into()
            }
            // 0 is SQL Server's default of 4 KB.
            "TEXTSIZE" => {
                let size = small(name, number, -1, i32::MAX)?;
                options.textsize = if size == 0 { 4096 } else { size };
            }
            "DATEFIRST" => {
                options.datefirst = match number {
                    Some(day @ 1..=7) => day as u8,
                    day => {
                        return Err(
                            SqlError::of(msg::SET_DATEFIRST_RANGE, [&day.unwrap_or(0)]).into()
                        );
                    }
                };
                options.own_datefirst = true;
            }
            "DEADLOCK_PRIORITY" => {
                options.deadlock_priority =
                    match value.as_str().map(str::to_ascii_uppercase).as_deref() {
                        Some("LOW") => -5,
                        Some("NORMAL") => 0,
                        Some("HIGH") => 5,
                        Some(_) => return Err(errors::syntax_near("DEADLOCK_PRIORITY").into()),
                        None => small(name, number, -10, 10)?,
                    };
            }
            "DATEFORMAT" => {
                let text = value.as_str().unwrap_or_default();
                options.dialect.order = DateOrder::from_name(text)
                    .ok_or_else(|| SqlError::of(msg::SET_DATEFORMAT_INVALID, [&text]))?;
                options.own_dateformat = true;
            }
            "LANGUAGE" => {
                let old = options.dialect.language();
                let new = language_named(value.as_str().unwrap_or_default())?;
                options.set_language(new);
                self.sink.changed(&SessionChange::Language { new: new.name, old: old.name })?;
                self.sink
                    .message(&self.placed(at, SqlError::of(msg::LANGUAGE_CHANGED, [&new.name])))?;
            }
            "CONTEXT_INFO" => {
                let to = DataType::VarBinary(Len::N(128));
                let value = convert(&value, value.natural_type(), to, 0, Mode::Implicit)?;
                self.core.objects.context_info = value;
            }
            "QUERY_GOVERNOR_COST_LIMIT" => {
                options.cost_limit = small(name, number, 0, i32::MAX)?.unsigned_abs();
            }
            // The FIPS 127-2 standard is not checked.
            "FIPS_FLAGGER" if value.as_str().is_some_and(|v| v.eq_ignore_ascii_case("OFF")) => {}
            "FIPS_FLAGGER" => {
                return Err(errors::not_supported(&format!("SET {name}")).into());
            }
            _ => return Err(unknown_option(name).into()),
        }
        self.core.transactions.apply_wait_options(&self.core.options);
        Ok(())
    }
}

/// The language of a name. Error: 2740.
pub fn language_named(name: &str) -> Result<&'static Language, SqlError> {
    Language::find(name).ok_or_else(|| SqlError::of(msg::SET_LANGUAGE_FAILED, [&name]))
}

/// `hh:mm[:ss[.fff]]` or the time of a datetime.
fn time_of_day(value: &Value) -> Option<Duration> {
    match value {
        Value::DateTime { ticks, .. } => {
            Some(Duration::from_micros(u64::from(*ticks) * 10_000 / 3))
        }
        Value::Time(ticks) | Value::DateTime2 { ticks, .. } => {
            Some(Duration::from_nanos(ticks * 100))
        }
        Value::Str(text) => {
            let mut parts = text.trim().split(':');
            let hours: u64 = parts.next()?.trim().parse().ok()?;
            let minutes: u64 = parts.next()?.trim().parse().ok()?;
            let seconds: f64 = parts.next().map_or(Ok(0.0), |s| s.trim().parse()).ok()?;
            let valid = hours < 24
                && minutes < 60
                && (0.0..60.0).contains(&seconds)
                && parts.next().is_none();
            valid.then(|| {
                Duration::from_secs(hours * 3600 + minutes * 60) + Duration::from_secs_f64(seconds)
            })
        }
        _ => None,
    }
}

/// DELAY takes a variable of type int or smallint for seconds, less than a day of them.
fn seconds(value: &Value) -> Option<Duration> {
    let seconds = match value {
        Value::Int(n) => u64::try_from(*n).ok()?,
        Value::SmallInt(n) => u64::try_from(*n).ok()?,
        _ => return None,
    };
    (seconds < 86_400).then(|| Duration::from_secs(seconds))
}

fn bad_time(value: Option<&Value>) -> SqlError {
    let shown =
        value.map(|v| types::display::format_value(v, v.natural_type())).unwrap_or_default();
    SqlError::of(msg::INCORRECT_WAITFOR_TIME, [&shown])
}

/// The message of a number that RAISERROR names. Errors: 2732, 18054.
fn user_message(
    core: &mut SessionCore,
    number: &Value,
    severity: i64,
    state: u8,
) -> Result<Message, SqlError> {
    let number = number.as_i64().unwrap_or(0);
    if !(13_000..=i64::from(i32::MAX)).contains(&number) || number == 50_000 {
        return Err(SqlError::of(msg::ERROR_NUMBER_INVALID, [&number]));
    }
    instance::messages::find(core, number)?
        .ok_or_else(|| SqlError::of(msg::RAISED_WITHOUT_MESSAGE, [&number, &severity, &state]))
}

fn unknown_option(name: &str) -> SqlError {
    SqlError::of(msg::NOT_RECOGNIZED, [&name, &"SET option"]).state(5)
}

fn small(name: &str, number: Option<i64>, low: i32, high: i32) -> Result<i32, SqlError> {
    match number.and_then(|n| i32::try_from(n).ok()) {
        Some(n) if (low..=high).contains(&n) => Ok(n),
        _ => Err(SqlError::of(msg::SET_VALUE_RANGE, [&name])),
    }
}

/// 596: KILL has ended the session, or an error of severity 20 or more does.
pub(crate) fn killed() -> SqlError {
    SqlError::of(msg::SESSION_KILLED, [])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let check = |text: &str, millis: Option<u64>| {
            assert_eq!(time_of_day(&Value::str(text)), millis.map(Duration::from_millis), "{text}");
        };
        check("00:00:05", Some(5_000));
        check("0:1", Some(60_000));
        check("01:00:00.250", Some(3_600_250));
        check("24:00", None);
        check("5", None);
        check("00:00:-1", None);
        check("00:00:nan", None);
    }
}

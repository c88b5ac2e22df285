//! A batch as a flat program: control of flow becomes jumps, every other statement one operation.
//! Guarantees: all jump targets are within the program; TRY regions nest properly; the depth of
//! CATCH blocks is known at every operation, so that GOTO out of one leaves its error behind.

use std::collections::HashMap;

use compact_str::CompactString;
use syntax::ast::{Declaration, Expr, Stmt, StmtKind};
use types::{DataType, SqlError, msg};

use bind::env::VarScope;
use bind::type_names::in_list;
use catalog::fold_name;
use session::asking::{Asking, GoOn};

/// A variable that exists before a batch starts: its name, and its type unless it is a table.
pub type BatchParam = (CompactString, Option<DataType>);

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Run a statement.
    Stmt(u32),
    /// Go on when the condition holds, else jump.
    Branch { condition: u32, otherwise: u32 },
    /// Jump.
    Jump(u32),
    /// GOTO, BREAK, CONTINUE: a jump that clients are told of.
    Goto(u32),
    /// A TRY block begins.
    BeginTry,
    /// The TRY block ended normally: over the CATCH block.
    EndTry(u32),
    /// The CATCH block ended normally: its error is forgotten.
    EndCatch,
    /// Give a variable its initial value: DECLARE @v = x.
    Init { slot: u32, expr: u32 },
    /// RETURN without or with a value.
    Return(Option<u32>),
}

/// A TRY block: operations `start..end`, its CATCH block at `catch`.
#[derive(Clone, Copy, Debug)]
pub struct TryRegion {
    pub start: u32,
    pub end: u32,
    pub catch: u32,
    /// CATCH blocks around the TRY block.
    pub depth: u32,
}

/// A compiled batch; statements in it are bound when they first run.
#[derive(Debug, Default)]
pub struct Program {
    /// Operations in order.
    pub ops: Vec<Op>,
    /// Line of each operation.
    pub lines: Vec<u32>,
    /// CATCH depth of each operation.
    pub depths: Vec<u32>,
    /// What [`Op::Stmt`] names.
    pub stmts: Vec<Stmt>,
    /// What conditions and initial values name.
    pub exprs: Vec<Expr>,
    /// TRY blocks, inner ones before outer ones.
    pub tries: Vec<TryRegion>,
    /// Variables of the batch.
    pub vars: VarScope,
    /// Of a scalar function: the variable that RETURN sets.
    pub result: Option<usize>,
}

/// What RETURN means in a function.
#[derive(Debug)]
pub enum FunctionResult {
    /// The value of this type.
    Scalar(DataType),
    /// That the function ends with this statement, which gives its rows.
    Rows(Box<Stmt>),
}

/// Resolves a declared type name; `None` for a table type.
pub type TypeOf<'a> = &'a dyn Fn(&syntax::ast::TypeName) -> Result<Option<DataType>, SqlError>;

/// The name of the variable that holds a function's value: no text can name it.
const RESULT: &str = "@return value";

struct Loop {
    start: u32,
    breaks: Vec<usize>,
}

struct Builder<'a> {
    program: Program,
    type_of: TypeOf<'a>,
    asking: Asking<'a>,
    loops: Vec<Loop>,
    labels: HashMap<CompactString, Label>,
    gotos: Vec<Goto>,
    depth: u32,
    /// The TRY and CATCH blocks around what is built, outermost first, each with a number of its
    /// own.
    blocks: Vec<u32>,
    block_count: u32,
    /// In a function that ends with a statement: the jumps to it.
    returns: Option<Vec<usize>>,
}

struct Label {
    at: u32,
    blocks: Vec<u32>,
}

struct Goto {
    at: usize,
    label: CompactString,
    line: u32,
    blocks: Vec<u32>,
}

impl Program {
    /// Flattens parsed statements. `vars` holds parameters that exist already.
    ///
    /// Errors: 134 a variable declared twice, 133 GOTO to no label, 1026 GOTO into TRY or CATCH,
    /// 132 a label twice, 135 and 136 BREAK and CONTINUE outside a loop, errors of types, and those
    /// of `go_on`, which is asked again and again.
    pub fn build(
        stmts: Vec<Stmt>,
        vars: VarScope,
        type_of: TypeOf<'_>,
        go_on: GoOn<'_>,
    ) -> Result<Program, SqlError> {
        let mut builder = Builder::new(vars, type_of, go_on);
        builder.block(stmts)?;
        builder.resolve_gotos()?;
        Ok(builder.program)
    }

    /// Flattens the statements of a function.
    ///
    /// Errors: as [`Program::build`].
    pub fn build_function(
        stmts: Vec<Stmt>,
        vars: VarScope,
        type_of: TypeOf<'_>,
        result: FunctionResult,
        go_on: GoOn<'_>,
    ) -> Result<Program, SqlError> {
        let mut builder = Builder::new(vars, type_of, go_on);
        match result {
            FunctionResult::Scalar(ty) => {
                builder.program.result = Some(builder.program.vars.declare(RESULT, ty)?);
                builder.block(stmts)?;
            }
            FunctionResult::Rows(last) => {
                builder.returns = Some(Vec::new());
                builder.block(stmts)?;
                let end = builder.here();
                for at in builder.returns.take().unwrap_or_default() {
                    builder.patch(at, end);
                }
                builder.stmt(*last)?;
            }
        }
        builder.resolve_gotos()?;
        Ok(builder.program)
    }

    /// The innermost TRY block around an operation.
    pub fn handler(&self, at: usize) -> Option<&TryRegion> {
        let at = at as u32;
        self.tries.iter().find(|region| region.start <= at && at < region.end)
    }
}

impl<'a> Builder<'a> {
    fn new(vars: VarScope, type_of: TypeOf<'a>, go_on: GoOn<'a>) -> Builder<'a> {
        Builder {
            program: Program { vars, ..Program::default() },
            type_of,
            asking: Asking::new(go_on),
            loops: Vec::new(),
            labels: HashMap::new(),
            gotos: Vec::new(),
            depth: 0,
            blocks: Vec::new(),
            block_count: 0,
            returns: None,
        }
    }
}

impl Builder<'_> {
    fn here(&self) -> u32 {
        self.program.ops.len() as u32
    }

    fn push(&mut self, op: Op, line: u32) -> usize {
        self.program.ops.push(op);
        self.program.lines.push(line);
        self.program.depths.push(self.depth);
        self.program.ops.len() - 1
    }

    fn expr(&mut self, expr: Expr) -> u32 {
        self.program.exprs.push(expr);
        self.program.exprs.len() as u32 - 1
    }

    fn patch(&mut self, at: usize, target: u32) {
        match &mut self.program.ops[at] {
            Op::Jump(to) | Op::Goto(to) | Op::EndTry(to) | Op::Branch { otherwise: to, .. } => {
                *to = target
            }
            _ => {}
        }
    }

    fn block(&mut self, stmts: Vec<Stmt>) -> Result<(), SqlError> {
        for stmt in stmts {
            let line = stmt.span.line;
            self.stmt(stmt).map_err(|e| e.at_line(line))?;
        }
        Ok(())
    }

    fn stmt(&mut self, stmt: Stmt) -> Result<(), SqlError> {
        self.asking.step()?;
        let line = stmt.span.line;
        match stmt.kind {
            StmtKind::Block(body) => self.block(body),
            StmtKind::If { condition, then, otherwise } => {
                self.branch(condition, *then, otherwise, line)
            }
            StmtKind::While { condition, body } => self.repeat(condition, *body, line),
            StmtKind::Break => self.leave_loop(line),
            StmtKind::Continue => match self.loops.last() {
                Some(inner) => {
                    let start = inner.start;
                    self.push(Op::Goto(start), line);
                    Ok(())
                }
                None => Err(SqlError::of(msg::CONTINUE_OUTSIDE_LOOP, [])),
            },
            StmtKind::TryCatch { body, catch } => self.try_catch(body, catch, line),
            StmtKind::Return(_) if self.returns.is_some() => {
                let at = self.push(Op::Jump(0), line);
                self.returns.get_or_insert_default().push(at);
                Ok(())
            }
            StmtKind::Return(value) if self.program.result.is_some() => {
                if let (Some(slot), Some(value)) = (self.program.result, value) {
                    let expr = self.expr(value);
                    self.push(Op::Init { slot: slot as u32, expr }, line);
                }
                self.push(Op::Return(None), line);
                Ok(())
            }
            StmtKind::Return(value) => {
                let value = value.map(|e| self.expr(e));
                self.push(Op::Return(value), line);
                Ok(())
            }
            StmtKind::Goto(label) => {
                let at = self.push(Op::Goto(0), line);
                let blocks = self.blocks.clone();
                self.gotos.push(Goto { at, label: fold_name(&label.value), line, blocks });
                Ok(())
            }
            StmtKind::Label(label) => {
                let here = Label { at: self.here(), blocks: self.blocks.clone() };
                if self.labels.insert(fold_name(&label.value), here).is_some() {
                    return Err(SqlError::of(msg::DUPLICATE_LABEL, [&label]));
                }
                Ok(())
            }
            StmtKind::Declare(list) => self.declare(list, line),
            kind => {
                let index = self.program.stmts.len() as u32;
                self.program.stmts.push(Stmt { kind, span: stmt.span });
                self.push(Op::Stmt(index), line);
                Ok(())
            }
        }
    }

    fn branch(
        &mut self,
        condition: Expr,
        then: Stmt,
        otherwise: Option<Box<Stmt>>,
        line: u32,
    ) -> Result<(), SqlError> {
        let condition = self.expr(condition);
        let branch = self.push(Op::Branch { condition, otherwise: 0 }, line);
        self.stmt(then)?;
        if let Some(otherwise) = otherwise {
            let over = self.push(Op::Jump(0), line);
            let here = self.here();
            self.patch(branch, here);
            self.stmt(*otherwise)?;
            let end = self.here();
            self.patch(over, end);
        } else {
            let here = self.here();
            self.patch(branch, here);
        }
        Ok(())
    }

    fn repeat(&mut self, condition: Expr, body: Stmt, line: u32) -> Result<(), SqlError> {
        let start = self.here();
        let condition = self.expr(condition);
        let branch = self.push(Op::Branch { condition, otherwise: 0 }, line);
        self.loops.push(Loop { start, breaks: Vec::new() });
        self.stmt(body)?;
        self.push(Op::Jump(start), line);
        let end = self.here();
        self.patch(branch, end);
        for at in self.loops.pop().map(|l| l.breaks).unwrap_or_default() {
            self.patch(at, end);
        }
        Ok(())
    }

    fn leave_loop(&mut self, line: u32) -> Result<(), SqlError> {
        if self.loops.is_empty() {
            return Err(SqlError::of(msg::BREAK_OUTSIDE_LOOP, []));
        }
        let at = self.push(Op::Goto(0), line);
        if let Some(inner) = self.loops.last_mut() {
            inner.breaks.push(at);
        }
        Ok(())
    }

    fn try_catch(&mut self, body: Vec<Stmt>, catch: Vec<Stmt>, line: u32) -> Result<(), SqlError> {
        let start = self.push(Op::BeginTry, line) as u32;
        let depth = self.depth;
        self.try_or_catch(body)?;
        let over = self.push(Op::EndTry(0), line);
        let handler = self.here();
        self.program.tries.push(TryRegion { start, end: handler, catch: handler, depth });
        self.depth += 1;
        self.try_or_catch(catch)?;
        self.push(Op::EndCatch, line);
        self.depth -= 1;
        let end = self.here();
        self.patch(over, end);
        Ok(())
    }

    /// The statements of a TRY or CATCH block: no GOTO from outside leads into them.
    fn try_or_catch(&mut self, stmts: Vec<Stmt>) -> Result<(), SqlError> {
        self.block_count += 1;
        self.blocks.push(self.block_count);
        let result = self.block(stmts);
        self.blocks.pop();
        result
    }

    fn declare(&mut self, list: Vec<Declaration>, line: u32) -> Result<(), SqlError> {
        for (number, item) in (1..).zip(list) {
            self.asking.step()?;
            match item {
                Declaration::Scalar { ref name, ref data_type, ref value, span } => {
                    let Some(ty) = (self.type_of)(data_type).map_err(|e| in_list(e, number))?
                    else {
                        if value.is_some() {
                            return Err(catalog::errors::syntax_near("="));
                        }
                        let index = self.program.stmts.len() as u32;
                        self.program.stmts.push(Stmt { kind: StmtKind::Declare(vec![item]), span });
                        self.push(Op::Stmt(index), line);
                        continue;
                    };
                    if ty.is_old_lob() {
                        return Err(SqlError::of(msg::TEXT_VARIABLE, []));
                    }
                    let slot = self.program.vars.declare(name, ty)? as u32;
                    if let Some(value) = value {
                        let expr = self.expr(value.clone());
                        self.push(Op::Init { slot, expr }, line);
                    }
                }
                Declaration::Table { span, .. } => {
                    let index = self.program.stmts.len() as u32;
                    self.program.stmts.push(Stmt { kind: StmtKind::Declare(vec![item]), span });
                    self.push(Op::Stmt(index), line);
                }
                // It holds nothing until it is set.
                Declaration::Cursor { name, .. } => self.program.vars.declare_cursor(&name)?,
            }
        }
        Ok(())
    }

    fn resolve_gotos(&mut self) -> Result<(), SqlError> {
        for Goto { at, label, line, blocks } in std::mem::take(&mut self.gotos) {
            self.asking.step()?;
            let Some(target) = self.labels.get(&label) else {
                return Err(SqlError::of(msg::UNKNOWN_LABEL, [&label]).at_line(line));
            };
            if !blocks.starts_with(&target.blocks) {
                return Err(SqlError::of(msg::GOTO_INTO_TRY, []).at_line(line));
            }
            let target = target.at;
            self.patch(at, target);
        }
        Ok(())
    }
}

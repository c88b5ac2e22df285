//! A plan as SHOWPLAN_XML: the elements and attributes of Microsoft's showplan schema (namespace of
//! 2004/07) that say what this planner knows. One document for each statement.

use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, Event};
use quick_xml::writer::Writer;
use types::{DataType, Len, SqlError};

use super::{Counted, Measured, Shown, Step};
use plan::cost::SECONDS;
use session::output::ColumnInfo;

const NAMESPACE: &str = "http://schemas.microsoft.com/sqlserver/2004/07/showplan";
const VERSION: &str = "1.564";

/// The one column of the result.
pub fn column() -> ColumnInfo {
    let name = "Microsoft SQL Server 2005 XML Showplan";
    ColumnInfo::new(name, DataType::NVarChar(Len::Max), true)
}

/// Elements in text. Writing to memory does not fail.
struct Document(Writer<Vec<u8>>);

impl Document {
    fn event(&mut self, event: Event<'_>) {
        let written = self.0.write_event(event);
        debug_assert!(written.is_ok(), "memory takes what is written");
    }

    fn open(&mut self, name: &str, attributes: &[(&str, String)]) {
        let start =
            BytesStart::new(name).with_attributes(attributes.iter().map(|(k, v)| (*k, v.as_str())));
        self.event(Event::Start(start));
    }

    fn close(&mut self, name: &str) {
        self.event(Event::End(BytesEnd::new(name)));
    }

    fn empty(&mut self, name: &str, attributes: &[(&str, String)]) {
        let start =
            BytesStart::new(name).with_attributes(attributes.iter().map(|(k, v)| (*k, v.as_str())));
        self.event(Event::Empty(start));
    }
}

/// The element that holds what an operator has beside what all have.
fn element(step: &Step) -> &'static str {
    match step.physical {
        "Clustered Index Scan" | "Clustered Index Seek" | "Index Scan" | "Index Seek" => {
            "IndexScan"
        }
        "Table Scan" => "TableScan",
        "Nested Loops" => "NestedLoops",
        "Hash Match" => "Hash",
        "Stream Aggregate" => "StreamAggregate",
        "Filter" => "Filter",
        "Compute Scalar" => "ComputeScalar",
        "Sort" if step.logical == "TopN Sort" => "TopSort",
        "Sort" => "Sort",
        "Top" => "Top",
        "Concatenation" => "Concat",
        "Sequence" => "Sequence",
        "Constant Scan" => "ConstantScan",
        "Table-valued function" => "TableValuedFunction",
        "Table Spool" => "Spool",
        "Inserted Scan" => "InsertedScan",
        "Deleted Scan" => "DeletedScan",
        "Window Aggregate" => "WindowAggregate",
        name if name.ends_with("Insert")
            || name.ends_with("Update")
            || name.ends_with("Delete") =>
        {
            "Update"
        }
        _ => "Generic",
    }
}

fn attributes_of(element: &str, step: &Step) -> Vec<(&'static str, String)> {
    let no = || "false".to_string();
    match element {
        "IndexScan" => {
            let ordered = step.physical.ends_with("Seek");
            vec![("Ordered", ordered.to_string()), ("ForcedIndex", no()), ("NoExpandHint", no())]
        }
        "TableScan" => vec![("Ordered", no()), ("ForcedIndex", no()), ("NoExpandHint", no())],
        "NestedLoops" => vec![("Optimized", no())],
        "Sort" | "TopSort" => vec![("Distinct", no())],
        "Filter" => vec![("StartupExpression", no())],
        _ => Vec::new(),
    }
}

impl Shown<'_> {
    /// The statement as a document, with what it did when that was measured.
    ///
    /// # Errors
    /// Those of who is asked.
    pub fn xml(&self, id: usize, measured: Option<&Measured<'_>>) -> Result<String, SqlError> {
        let mut out = Document(Writer::new(Vec::new()));
        out.event(Event::Decl(BytesDecl::new("1.0", Some("utf-16"), None)));
        let version = env!("CARGO_PKG_VERSION").to_string();
        let root = [("xmlns", NAMESPACE.into()), ("Version", VERSION.into()), ("Build", version)];
        out.open("ShowPlanXML", &root);
        out.open("BatchSequence", &[]);
        out.open("Batch", &[]);
        out.open("Statements", &[]);
        self.statement(&mut out, id, measured)?;
        for name in ["Statements", "Batch", "BatchSequence", "ShowPlanXML"] {
            out.close(name);
        }
        Ok(String::from_utf8(out.0.into_inner()).unwrap_or_default())
    }

    fn statement(
        &self,
        out: &mut Document,
        id: usize,
        measured: Option<&Measured<'_>>,
    ) -> Result<(), SqlError> {
        let mut attributes = vec![
            ("StatementCompId", (id + 1).to_string()),
            ("StatementId", (id + 1).to_string()),
            ("StatementText", self.statement.clone()),
            ("StatementType", self.kind.to_string()),
        ];
        let first = self.steps.iter().find_map(|step| step.estimate);
        if let Some(estimate) = first {
            attributes.push(("StatementEstRows", estimate.rows.to_string()));
            attributes.push(("StatementSubTreeCost", (estimate.cost.total * SECONDS).to_string()));
        }
        out.open("StmtSimple", &attributes);
        if !self.steps.is_empty() {
            out.open("QueryPlan", &[]);
            self.missing_indexes(out);
            let mut children = vec![Vec::new(); self.steps.len()];
            for (at, step) in self.steps.iter().enumerate() {
                step.parent.into_iter().for_each(|parent| children[parent].push(at));
            }
            self.operator(out, (0, &children), measured)?;
            out.close("QueryPlan");
        }
        out.close("StmtSimple");
        Ok(())
    }

    fn missing_indexes(&self, out: &mut Document) {
        if self.missing.is_empty() {
            return;
        }
        out.open("MissingIndexes", &[]);
        for missing in &self.missing {
            let table = &missing.table;
            let quoted = |name: &str| format!("[{name}]");
            out.open("MissingIndexGroup", &[("Impact", format!("{:.4}", missing.impact))]);
            let names = [
                ("Database", quoted(&missing.db.name())),
                ("Schema", quoted(&table.schema)),
                ("Table", quoted(&table.name)),
            ];
            out.open("MissingIndex", &names);
            for (usage, columns) in [
                ("EQUALITY", &missing.wanted.equality),
                ("INEQUALITY", &missing.wanted.inequality),
                ("INCLUDE", &missing.wanted.included),
            ] {
                if columns.is_empty() {
                    continue;
                }
                out.open("ColumnGroup", &[("Usage", usage.to_string())]);
                for column in columns.iter().map(|at| &table.columns[*at]) {
                    let id = column.column_id.to_string();
                    out.empty("Column", &[("Name", quoted(&column.name)), ("ColumnId", id)]);
                }
                out.close("ColumnGroup");
            }
            out.close("MissingIndex");
            out.close("MissingIndexGroup");
        }
        out.close("MissingIndexes");
    }

    fn operator(
        &self,
        out: &mut Document,
        (at, children): (usize, &[Vec<usize>]),
        measured: Option<&Measured<'_>>,
    ) -> Result<(), SqlError> {
        self.asking.step()?;
        let step = &self.steps[at];
        let mut attributes = vec![
            ("NodeId", at.to_string()),
            ("PhysicalOp", step.physical.to_string()),
            ("LogicalOp", step.logical.to_string()),
            ("Parallel", "false".to_string()),
            ("EstimatedExecutionMode", "Row".to_string()),
        ];
        let estimate = step.estimate;
        let number = |f: f64| f.to_string();
        attributes.push(("EstimateRows", number(estimate.map_or(0.0, |e| e.rows))));
        attributes.push(("EstimateIO", number(0.0)));
        attributes.push(("EstimateCPU", number(estimate.map_or(0.0, |e| e.cost.own * SECONDS))));
        attributes.push(("AvgRowSize", estimate.map_or(0, |e| e.row_bytes()).to_string()));
        let total = estimate.map_or(0.0, |e| e.cost.total * SECONDS);
        attributes.push(("EstimatedTotalSubtreeCost", number(total)));
        attributes.push(("EstimateRebinds", number(estimate.map_or(0.0, |e| e.executions - 1.0))));
        attributes.push(("EstimateRewinds", number(0.0)));
        out.open("RelOp", &attributes);
        out.empty("OutputList", &[]);
        if let Some(counters) = measured.and_then(|measured| measured.of(step)) {
            out.open("RunTimeInformation", &[]);
            let mut did = vec![
                ("Thread", 0),
                ("ActualRows", counters.rows),
                ("ActualEndOfScans", counters.ends),
                ("ActualExecutions", counters.executions),
            ];
            if counters.compared > 0 {
                // What SQL Server counts of a scan with a condition.
                did.push(("ActualRowsRead", counters.compared));
            }
            if matches!(step.counted, Counted::Node(_)) {
                did.push(("ActualElapsedms", counters.elapsed.as_millis() as u64));
            }
            let did: Vec<_> = did.into_iter().map(|(name, n)| (name, n.to_string())).collect();
            out.empty("RunTimeCountersPerThread", &did);
            out.close("RunTimeInformation");
        }
        let element = element(step);
        out.open(element, &attributes_of(element, step));
        if let Some(object) = &step.object {
            let quoted = |name: &str| format!("[{name}]");
            let mut names = vec![
                ("Database", quoted(&object.database)),
                ("Schema", quoted(&object.schema)),
                ("Table", quoted(&object.table)),
            ];
            if !object.index.is_empty() {
                names.push(("Index", quoted(&object.index)));
                let kind = if object.clustered { "Clustered" } else { "NonClustered" };
                names.push(("IndexKind", kind.to_string()));
            }
            out.empty("Object", &names);
        }
        for child in &children[at] {
            stack::with_room(|| self.operator(out, (*child, children), measured))?;
        }
        out.close(element);
        out.close("RelOp");
        Ok(())
    }
}

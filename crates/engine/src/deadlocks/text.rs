//! Deadlocks as lines of the error log: what trace flags 1222 and 1204 write.

use super::report::{ContestedResource, Process, ProcessRole, Report};
use super::tree::Element;
use metadata::views::waiting::wait_resource;

/// Trace flag 1222: the graph, an element a line.
pub(super) fn as_list(graph: &Element, report: &Report, mut line: impl FnMut(&str)) {
    line("deadlock-list");
    for victim in report.processes.iter().take(1) {
        line(&format!(" deadlock victim={}", victim.id));
    }
    let lists = graph.children.iter().filter(|list| list.name != "victim-list");
    lists.for_each(|list| element(list, 2, &mut line));
}

/// Graphs are five elements deep, whatever the deadlock.
fn element(of: &Element, depth: usize, line: &mut impl FnMut(&str)) {
    let indent = " ".repeat(depth);
    let attributes: String =
        of.attributes.iter().map(|(name, value)| format!(" {name}={value}")).collect();
    line(&format!("{indent}{}{attributes}", of.name));
    of.text.lines().for_each(|text| line(&format!("{indent} {text}")));
    of.children.iter().for_each(|child| element(child, depth + 1, line));
}

/// Trace flag 1204: a node for each resource, with who holds it and who asks for it.
pub(super) fn as_nodes(report: &Report, mut line: impl FnMut(&str)) {
    line("Deadlock encountered .... Printing deadlock information");
    line("Wait-for graph");
    for (at, resource) in report.resources.iter().enumerate() {
        line(&format!("Node:{}", at + 1));
        node(report, resource, &mut line);
    }
    if let Some(victim) = report.processes.first() {
        line("Victim Resource Owner:");
        line(&format!("  {}", owner(victim, victim.party.mode.name())));
    }
}

fn owner(process: &Process, mode: &str) -> String {
    let (session, priority, log) =
        (process.session, process.party.priority, process.party.log_bytes);
    format!("ResType:LockOwner Mode: {mode} SPID:{session} ECID:0 Cost:({priority}/{log})")
}

fn node(report: &Report, of: &ContestedResource, line: &mut impl FnMut(&str)) {
    let held = of.owners.first().map_or("", |owner| owner.mode.name());
    line(&format!("{} Mode:{held}", wait_resource(&of.resource)));
    let known = |part: &ProcessRole| report.processes.iter().find(|p| p.id == part.process);
    line(" Grant List:");
    for (part, process) in of.owners.iter().filter_map(|part| Some((part, known(part)?))) {
        line(&format!(
            "   Owner: {} Mode: {} SPID:{}",
            process.id,
            part.mode.name(),
            process.session
        ));
        line(&format!("   Line #: {} {}", process.line, process.statement.replace('\n', " ")));
        line(&format!("   Input Buf: Language Event: {}", process.input.replace('\n', " ")));
    }
    line(" Requested by:");
    for (part, process) in of.waiters.iter().filter_map(|part| Some((part, known(part)?))) {
        line(&format!("   {}", owner(process, part.mode.name())));
    }
}

//! Expressions of queries as trees, and what can be said of them before they run.

use compact_str::CompactString;

use crate::binary::Encoding;
use crate::item::Atom;
use crate::tree::Name;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Axis {
    Child,
    Descendant,
    DescendantOrSelf,
    Itself,
    Parent,
    Attribute,
    Ancestor,
    AncestorOrSelf,
    FollowingSibling,
    PrecedingSibling,
}

/// Which nodes of an axis.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Test {
    Any,
    Text,
    Comment,
    /// `processing-instruction()`: any target, or one.
    Instruction(Option<String>),
    /// `element()`: any name, elements only.
    Element,
    Name(Name),
    /// `*`, `p:*`, `*:local`: what is fixed of the name.
    Wild {
        uri: Option<String>,
        local: Option<String>,
    },
}

#[derive(Clone, Debug)]
pub(crate) enum PathStep {
    Axis {
        axis: Axis,
        test: Test,
        predicates: Vec<Expr>,
    },
    /// An expression for each item, as `data(.)` behind a slash.
    Each(Expr),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Compare {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Is,
    Before,
    After,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    IntegerDivide,
    Modulo,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cast {
    Text,
    Untyped,
    Number,
    Whole { least: i128, most: i128 },
    Bool,
    Binary(Encoding),
}

/// A node that a query makes and that is no element.
#[derive(Clone, Debug)]
pub(crate) enum Leaf {
    Attribute(Name, Expr),
    Text(Expr),
    Comment(String),
    /// Its target, and what stands behind it.
    Instruction(CompactString, String),
}

/// What stands in an element, or in the value of an attribute.
#[derive(Clone, Debug)]
pub(crate) enum ContentPart {
    Text(String),
    Value(Expr),
    Element(Constructor),
    Comment(String),
    Instruction(CompactString, String),
}

/// An element that a query makes.
#[derive(Clone, Debug)]
pub(crate) struct Constructor {
    pub name: Name,
    pub spaces: Vec<(CompactString, CompactString)>,
    pub attributes: Vec<(Name, Vec<ContentPart>)>,
    pub content: Vec<ContentPart>,
}

/// A function of the list as a query calls it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callee {
    pub name: &'static str,
    /// Gives as many items as it gets.
    pub many: bool,
    /// Its place in the list.
    pub place: usize,
}

#[derive(Clone, Debug)]
pub(crate) enum Clause {
    For { variable: usize, place: Option<usize>, of: Expr },
    Let { variable: usize, value: Expr },
}

#[derive(Clone, Debug)]
pub(crate) enum Expr {
    Literal(Atom),
    Sequence(Vec<Expr>),
    Root,
    Context,
    Path(Box<Expr>, Vec<PathStep>),
    Filter(Box<Expr>, Vec<Expr>),
    Union(Box<Expr>, Box<Expr>),
    Or(Vec<Expr>),
    And(Vec<Expr>),
    Compare(Compare, Box<Expr>, Box<Expr>),
    Arithmetic(Arithmetic, Box<Expr>, Box<Expr>),
    Negate(Box<Expr>),
    If(Box<[Expr; 3]>),
    Call(Callee, Vec<Expr>),
    Cast(Cast, Box<Expr>),
    /// A variable of the query.
    Variable(usize),
    /// What the surroundings give: sql:variable, sql:column.
    External(usize),
    Flwor {
        clauses: Vec<Clause>,
        filter: Option<Box<Expr>>,
        order: Vec<(Expr, bool)>,
        value: Box<Expr>,
    },
    /// SOME or EVERY.
    Quantified {
        every: bool,
        variable: usize,
        of: Box<Expr>,
        test: Box<Expr>,
    },
    Element(Box<Constructor>),
    Leaf(Box<Leaf>),
}

impl Expr {
    /// Whether it is written as `()`.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Expr::Sequence(list) if list.is_empty())
    }

    /// Whether it is written as a node that the query makes.
    pub(crate) fn is_constructor(&self) -> bool {
        matches!(self, Expr::Element(_) | Expr::Leaf(_))
    }

    /// Whether it may give more than one item, as far as can be told before it runs.
    pub(crate) fn is_many(&self) -> bool {
        match self {
            Expr::Path(start, steps) => start.is_many() || steps.iter().any(PathStep::is_many),
            Expr::Filter(of, predicates) => {
                of.is_many() && !predicates.iter().any(Expr::is_one_place)
            }
            Expr::Sequence(list) => list.len() > 1 || list.iter().any(Expr::is_many),
            Expr::Union(..) | Expr::Flwor { .. } => true,
            Expr::If(parts) => parts[1].is_many() || parts[2].is_many(),
            Expr::Call(function, args) => function.many && args.iter().any(Expr::is_many),
            _ => false,
        }
    }

    /// A predicate that keeps one item at most.
    fn is_one_place(&self) -> bool {
        match self {
            Expr::Literal(Atom::Number(_)) | Expr::External(_) => true,
            Expr::Call(function, _) => function.name == "last",
            // [position() = 1]
            Expr::Compare(Compare::Equal, left, right) => {
                let place = |e: &Expr| matches!(e, Expr::Call(f, _) if f.name == "position");
                (place(left) && right.is_one_place()) || (place(right) && left.is_one_place())
            }
            _ => false,
        }
    }
}

impl PathStep {
    fn is_many(&self) -> bool {
        match self {
            PathStep::Each(e) => e.is_many(),
            PathStep::Axis { predicates, .. } if predicates.iter().any(Expr::is_one_place) => false,
            PathStep::Axis { axis: Axis::Itself | Axis::Parent, .. } => false,
            PathStep::Axis { axis: Axis::Attribute, test, .. } => !matches!(test, Test::Name(_)),
            PathStep::Axis { .. } => true,
        }
    }
}

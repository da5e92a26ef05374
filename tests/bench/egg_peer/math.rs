//! Derivatives and integrals: the rules of `micro` without an analysis, and those of `math` with constants folded.
use std::fmt;
use std::str::FromStr;

use egg::{
    define_language, merge_option, rewrite, Analysis, DidMerge, EGraph, Id, Language, Rewrite, Subst, Symbol, Var,
};

/// A number by its bits, so that it can be compared and hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number(u64);

impl Number {
    fn new(value: f64) -> Self {
        Number((value + 0.0).to_bits()) // -0 is 0
    }
    fn value(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl FromStr for Number {
    type Err = std::num::ParseFloatError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Number::new)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}", self.value())
    }
}

define_language! {
    pub enum Math {
        "d" = D([Id; 2]),
        "i" = I([Id; 2]),
        "+" = Add([Id; 2]),
        "-" = Sub([Id; 2]),
        "*" = Mul([Id; 2]),
        "/" = Div([Id; 2]),
        "pow" = Pow([Id; 2]),
        "ln" = Ln(Id),
        "sqrt" = Sqrt(Id),
        "sin" = Sin(Id),
        "cos" = Cos(Id),
        Constant(Number),
        Variable(Symbol),
    }
}

pub const STARTS: &[&str] = &[
    "(i (ln x) x)",
    "(i (+ x (cos x)) x)",
    "(i (* (cos x) x) x)",
    "(d x (+ 1 (* 2 x)))",
    "(d x (- (pow x 3) (* 7 (pow x 2))))",
    "(+ (* y (+ x y)) (- (+ x 2) (+ x x)))",
    "(/ 1 (- (/ (+ 1 (sqrt five)) 2) (/ (- 1 (sqrt five)) 2)))",
];

// --- micro ---

fn shared_by_both<N: Analysis<Math> + 'static>() -> Vec<Rewrite<Math, N>> {
    vec![
        rewrite!("add-swap"; "(+ ?a ?b)" => "(+ ?b ?a)"),
        rewrite!("mul-swap"; "(* ?a ?b)" => "(* ?b ?a)"),
        rewrite!("add-left"; "(+ ?a (+ ?b ?c))" => "(+ (+ ?a ?b) ?c)"),
        rewrite!("mul-left"; "(* ?a (* ?b ?c))" => "(* (* ?a ?b) ?c)"),
        rewrite!("sub"; "(- ?a ?b)" => "(+ ?a (* -1 ?b))"),
        rewrite!("add-0"; "(+ ?a 0)" => "?a"),
        rewrite!("mul-0"; "(* ?a 0)" => "0"),
        rewrite!("mul-1"; "(* ?a 1)" => "?a"),
        rewrite!("sub-self"; "(- ?a ?a)" => "0"),
        rewrite!("distribute"; "(* ?a (+ ?b ?c))" => "(+ (* ?a ?b) (* ?a ?c))"),
        rewrite!("factor"; "(+ (* ?a ?b) (* ?a ?c))" => "(* ?a (+ ?b ?c))"),
        rewrite!("pow-add"; "(* (pow ?a ?b) (pow ?a ?c))" => "(pow ?a (+ ?b ?c))"),
        rewrite!("pow-1"; "(pow ?x 1)" => "?x"),
        rewrite!("pow-2"; "(pow ?x 2)" => "(* ?x ?x)"),
        rewrite!("d-add"; "(d ?x (+ ?a ?b))" => "(+ (d ?x ?a) (d ?x ?b))"),
        rewrite!("d-mul"; "(d ?x (* ?a ?b))" => "(+ (* ?a (d ?x ?b)) (* ?b (d ?x ?a)))"),
        rewrite!("d-sin"; "(d ?x (sin ?x))" => "(cos ?x)"),
        rewrite!("d-cos"; "(d ?x (cos ?x))" => "(* -1 (sin ?x))"),
        rewrite!("i-1"; "(i 1 ?x)" => "?x"),
        rewrite!("i-cos"; "(i (cos ?x) ?x)" => "(sin ?x)"),
        rewrite!("i-sin"; "(i (sin ?x) ?x)" => "(* -1 (cos ?x))"),
        rewrite!("i-add"; "(i (+ ?f ?g) ?x)" => "(+ (i ?f ?x) (i ?g ?x))"),
        rewrite!("i-sub"; "(i (- ?f ?g) ?x)" => "(- (i ?f ?x) (i ?g ?x))"),
        rewrite!("i-mul"; "(i (* ?a ?b) ?x)" => "(- (* ?a (i ?b ?x)) (i (* (d ?x ?a) (i ?b ?x)) ?x))"),
    ]
}

pub fn micro_rules() -> Vec<Rewrite<Math, ()>> {
    shared_by_both()
}

// --- math ---

/// The value of a class, where it is known.
#[derive(Default)]
pub struct Values;

type Graph = EGraph<Math, Values>;

impl Analysis<Math> for Values {
    type Data = Option<Number>;

    fn make(graph: &mut Graph, node: &Math, _: Id) -> Option<Number> {
        let value = |id: &Id| graph[*id].data.map(Number::value);
        let result = match node {
            Math::Constant(number) => number.value(),
            Math::Add([a, b]) => value(a)? + value(b)?,
            Math::Sub([a, b]) => value(a)? - value(b)?,
            Math::Mul([a, b]) => value(a)? * value(b)?,
            Math::Div([a, b]) if value(b)? != 0.0 => value(a)? / value(b)?,
            _ => return None,
        };
        Some(Number::new(result))
    }

    fn merge(&mut self, into: &mut Option<Number>, from: Option<Number>) -> DidMerge {
        merge_option(into, from, |_, _| DidMerge(false, false))
    }

    /// A class with a value holds it as a constant, and beside it leaves only.
    fn modify(graph: &mut Graph, id: Id) {
        let Some(number) = graph[id].data else { return };
        let constant = graph.add(Math::Constant(number));
        graph.union(id, constant);
        graph[id].nodes.retain(Language::is_leaf);
    }
}

type Condition = Box<dyn Fn(&mut Graph, Id, &Subst) -> bool + Send + Sync>;

fn variable(name: &str) -> Var {
    name.parse().expect("a variable")
}

fn holds_variable(graph: &Graph, id: Id) -> bool {
    graph[id].nodes.iter().any(|node| matches!(node, Math::Variable(_)))
}

/// Not a known 0.
fn nz(name: &str) -> Condition {
    let var = variable(name);
    Box::new(move |graph, _, subst| graph[subst[var]].data.map(Number::value) != Some(0.0))
}

fn sym(name: &str) -> Condition {
    let var = variable(name);
    Box::new(move |graph, _, subst| holds_variable(graph, subst[var]))
}

fn known(name: &str) -> Condition {
    let var = variable(name);
    Box::new(move |graph, _, subst| graph[subst[var]].data.is_some())
}

/// Differs from x, and is known or holds a variable.
fn constant_or_other(c: &str, x: &str) -> Condition {
    let (c, x) = (variable(c), variable(x));
    Box::new(move |graph, _, subst| {
        let id = subst[c];
        graph.find(id) != graph.find(subst[x]) && (graph[id].data.is_some() || holds_variable(graph, id))
    })
}

pub fn math_rules() -> Vec<Rewrite<Math, Values>> {
    let mut rules = shared_by_both();
    rules.extend([
        rewrite!("div"; "(/ ?a ?b)" => "(* ?a (pow ?b -1))" if nz("?b")),
        rewrite!("to-add-0"; "?a" => "(+ ?a 0)"),
        rewrite!("to-mul-1"; "?a" => "(* ?a 1)"),
        rewrite!("div-self"; "(/ ?a ?a)" => "1" if nz("?a")),
        rewrite!("pow-0"; "(pow ?x 0)" => "1" if nz("?x")),
        rewrite!("pow-minus-1"; "(pow ?x -1)" => "(/ 1 ?x)" if nz("?x")),
        rewrite!("inverse"; "(* ?x (/ 1 ?x))" => "1" if nz("?x")),
        rewrite!("d-self"; "(d ?x ?x)" => "1" if sym("?x")),
        rewrite!("d-other"; "(d ?x ?c)" => "0" if sym("?x") if constant_or_other("?c", "?x")),
        rewrite!("d-ln"; "(d ?x (ln ?x))" => "(/ 1 ?x)" if nz("?x")),
        rewrite!("d-pow"; "(d ?x (pow ?f ?g))" =>
            "(* (pow ?f ?g) (+ (* (d ?x ?f) (/ ?g ?f)) (* (d ?x ?g) (ln ?f))))" if nz("?f") if nz("?g")),
        rewrite!("i-pow"; "(i (pow ?x ?c) ?x)" => "(/ (pow ?x (+ ?c 1)) (+ ?c 1))" if known("?c")),
    ]);
    rules
}

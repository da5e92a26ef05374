//! The two workloads that saturate: sums under associativity and commutativity, products under both associativities.
use egg::{rewrite, Rewrite, SymbolLang};

type Rules = Vec<Rewrite<SymbolLang, ()>>;

pub fn ac_rules() -> Rules {
    vec![
        rewrite!("swap"; "(+ ?a ?b)" => "(+ ?b ?a)"),
        rewrite!("left"; "(+ ?a (+ ?b ?c))" => "(+ (+ ?a ?b) ?c)"),
    ]
}

pub fn mm_rules() -> Rules {
    vec![
        rewrite!("right"; "(@ (@ ?a ?b) ?c)" => "(@ ?a (@ ?b ?c))"),
        rewrite!("left"; "(@ ?a (@ ?b ?c))" => "(@ (@ ?a ?b) ?c)"),
    ]
}

/// x1 + (x2 + (... + xn))
pub fn sum(n: usize) -> String {
    (1..n).rev().fold(format!("x{n}"), |term, i| format!("(+ x{i} {term})"))
}

/// ((x1 @ x2) @ ...) @ xn
pub fn product(n: usize) -> String {
    (2..=n).fold("x1".to_string(), |term, i| format!("(@ {term} x{i})"))
}

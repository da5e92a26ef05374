//! egg_peer WORKLOAD N: runs micro k, ac n, mm n or math k in egg and prints its size and time in the form of
//! weft_bench_egraph. Every iteration searches all rules on the same graph and applies all matches: no backoff, no
//! limit but the iterations.
use std::process::exit;
use std::time::{Duration, Instant};

use egg::{Analysis, AstSize, EGraph, Extractor, Language, RecExpr, Rewrite, Runner, SimpleScheduler};

mod chain;
mod math;

struct Told {
    nodes: usize,
    classes: usize,
    iterations: usize,
    search: f64,
    apply: f64,
    rebuild: f64,
    sizes: Vec<usize>,
}

/// Runs to saturation, or for so many iterations; `sizes`: also the smallest term of each start term.
fn run<L, N>(rules: Vec<Rewrite<L, N>>, starts: &[&str], iterations: usize, sizes: bool) -> Told
where
    L: Language + egg::FromOp + std::fmt::Display + 'static,
    L::Error: std::fmt::Debug,
    N: Analysis<L> + Default + 'static,
{
    let mut runner: Runner<L, N, ()> = Runner::new(N::default())
        .with_scheduler(SimpleScheduler)
        .with_iter_limit(iterations)
        .with_node_limit(usize::MAX)
        .with_time_limit(Duration::from_secs(3600));
    for start in starts {
        let term: RecExpr<L> = start.parse().unwrap_or_else(|error| panic!("{start}: {error:?}"));
        runner = runner.with_expr(&term);
    }
    let runner = runner.run(&rules);
    let report = runner.report();
    Told {
        nodes: runner.egraph.total_number_of_nodes(),
        classes: runner.egraph.number_of_classes(),
        // The last iteration of a saturated run finds nothing new; weft counts it too.
        iterations: report.iterations,
        search: report.search_time,
        apply: report.apply_time,
        rebuild: report.rebuild_time,
        sizes: if sizes {
            smallest(&runner.egraph, &runner.roots)
        } else {
            Vec::new()
        },
    }
}

fn smallest<L: Language, N: Analysis<L>>(graph: &EGraph<L, N>, roots: &[egg::Id]) -> Vec<usize> {
    let extractor = Extractor::new(graph, AstSize);
    roots.iter().map(|&root| extractor.find_best_cost(root)).collect()
}

fn usage() -> ! {
    eprintln!("usage: egg_peer micro|ac|mm|math N [--sizes]");
    exit(2)
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let n = arguments
        .get(2)
        .and_then(|text| text.parse::<usize>().ok())
        .unwrap_or(0);
    if !(1..=1000).contains(&n) {
        usage()
    }
    let sizes = arguments.get(3).map(String::as_str) == Some("--sizes");
    let start = Instant::now();
    let told = match arguments[1].as_str() {
        "micro" => run(math::micro_rules(), math::STARTS, n, sizes),
        "math" => run(math::math_rules(), math::STARTS, n, sizes),
        "ac" => run(chain::ac_rules(), &[&chain::sum(n)], usize::MAX, sizes),
        "mm" => run(chain::mm_rules(), &[&chain::product(n)], usize::MAX, sizes),
        _ => usage(),
    };
    let seconds = start.elapsed().as_secs_f64();
    if sizes {
        println!("smallest terms: {:?}", told.sizes);
    }
    println!(
        "{} {n}: {} nodes, {} classes, {} iterations, {seconds:.4} s (search {:.4}, apply {:.4}, rebuild {:.4})",
        arguments[1], told.nodes, told.classes, told.iterations, told.search, told.apply, told.rebuild
    );
    exit(0) // the graph is not taken apart: that is no part of the work
}

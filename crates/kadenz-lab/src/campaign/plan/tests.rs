use std::collections::HashSet;
use std::time::Duration;

use super::*;

const PLAN: &str = "name = \"ROS timers\"\ncommand = \"timer cyclic --rate 1kHz --count 1000\"\nrounds = 3\n\
                    [vary]\npolicy = [\"other\", \"fifo:80\"]\nload = [\"idle\", \"busy\"]\n";

fn plan() -> Plan {
    Plan::parse(PLAN).unwrap()
}

#[test]
fn combinations_are_the_product_in_the_order_of_the_file() {
    let plan = plan();
    let all: Vec<String> = (0..4).map(|it| plan.options(it).join(" ")).collect();
    assert_eq!(
        all,
        [
            "--policy other --load idle",
            "--policy other --load busy",
            "--policy fifo:80 --load idle",
            "--policy fifo:80 --load busy",
        ]
    );
    // The order of the file, not of the alphabet.
    assert_eq!(plan.parameters[0].key, "policy");
    assert_eq!(plan.folder_name(), "ros-timers");
}

#[test]
fn each_round_has_every_combination_once_and_begins_with_another() {
    let plan = plan();
    let runs: Vec<PlannedRun> = plan.runs().collect();
    assert_eq!((runs.len(), plan.count()), (12, 12));
    assert!(runs.iter().map(|it| it.number).eq(1..=12));
    let mut first = HashSet::new();
    for (round, runs) in runs.chunks(4).enumerate() {
        assert!(runs.iter().all(|it| it.round as usize == round + 1));
        let all: HashSet<usize> = runs.iter().map(|it| it.combination).collect();
        assert_eq!(all.len(), 4);
        assert!(first.insert(runs[0].combination));
    }
}

#[test]
fn flags_numbers_and_values_with_a_dash_become_options() {
    let text = "name = \"a\"\ncommand = [\"msg\", \"latency\", \"--with\", \"./p --x\"]\n[vary]\n\
                lock = [true, false]\nsize = [1, 2.5]\noffset = [-3]\n";
    let plan = Plan::parse(text).unwrap();
    assert_eq!(plan.command[3], "./p --x");
    assert_eq!(plan.options(0), ["--lock", "--size", "1", "--offset=-3"]);
    assert_eq!(plan.options(3), ["--size", "2.5", "--offset=-3"]);
    assert_eq!(plan.every_value_once().len(), 3);
    let shown: HashSet<String> = plan
        .every_value_once()
        .into_iter()
        .flat_map(|it| plan.values(it).into_iter().map(ToString::to_string))
        .collect();
    assert_eq!(shown.len(), 5, "{shown:?}");
}

#[test]
fn without_anything_that_varies_the_command_is_repeated() {
    let plan =
        Plan::parse("name = \"a\"\ncommand = \"kadenz hiccup --duration 2s\"\nrounds = 5").unwrap();
    assert_eq!((plan.combinations(), plan.count()), (1, 5));
    assert_eq!(plan.words(0).join(" "), "hiccup --duration 2s");
    assert_eq!(plan.measuring_time(), Some(Duration::from_secs(10)));
}

#[test]
fn the_time_follows_from_the_options_or_is_unknown() {
    assert_eq!(plan().measuring_time(), Some(Duration::from_secs(12)));
    let varied = PLAN.replace("load = [\"idle\", \"busy\"]", "count = [1000, 3000]");
    let varied = Plan::parse(&varied).unwrap();
    assert_eq!(varied.measuring_time(), Some(Duration::from_secs(24)));
    let without_count = PLAN.replace("--count 1000", "");
    assert_eq!(Plan::parse(&without_count).unwrap().measuring_time(), None);
}

#[test]
fn errors_give_their_line_and_a_remedy() {
    let vary = |line: &str| format!("name = \"a\"\ncommand = \"hiccup\"\n[vary]\n{line}\n");
    for (text, line, words) in [
        (
            "name = \"a\"\ncommand = \"\"".to_owned(),
            Some(2),
            "no words",
        ),
        (
            "name = \"\"\ncommand = \"hiccup\"".to_owned(),
            Some(1),
            "letters",
        ),
        ("name = \"a\"\ncommand = 7".to_owned(), Some(2), "no words"),
        (
            "name = \"a\"\ncommand = \"hiccup -- ./x\"".to_owned(),
            Some(2),
            "behind `--`",
        ),
        (
            "name = \"a\"\ncommand = \"hiccup --out=x\"".to_owned(),
            Some(2),
            "`--out`",
        ),
        (
            "name = \"a\"\ncommand = \"hiccup\"\nround = 3".to_owned(),
            Some(3),
            "round",
        ),
        (
            "name = \"a\"\ncommand = \"hiccup\"\nrounds = 0".to_owned(),
            Some(3),
            "1 or more",
        ),
        (
            "name = \"a\"\ncommand = \"hiccup\"\nrounds = 100001".to_owned(),
            None,
            "100000",
        ),
        (vary("--policy = [\"a\"]"), Some(4), "without dashes"),
        (vary("out = [\"a\"]"), Some(4), "cannot vary"),
        (vary("policy = \"other\""), Some(4), "list"),
        (vary("policy = []"), Some(4), "list"),
        (vary("policy = [\"a\", \"a\"]"), Some(4), "twice"),
        (vary("policy = [{ a = 1 }]"), Some(4), "quotes"),
        (vary("policy = [nan]"), Some(4), "quotes"),
    ] {
        let error = Plan::parse(&text).unwrap_err();
        assert_eq!(error.line(), line, "{text}: {error}");
        assert!(error.to_string().contains(words), "{text}: {error}");
    }
    let many: String = (0..21).map(|it| format!("o{it} = [1]\n")).collect();
    let error = Plan::parse(&vary(&many)).unwrap_err();
    assert!(error.to_string().contains("20 at most"), "{error}");
    let product: String = (0..20)
        .map(|it| format!("o{it} = [{}]\n", "1, 2, 3, 4, 5, 6, 7, 8, 9, 10"))
        .collect();
    let error = Plan::parse(&vary(&product)).unwrap_err();
    assert!(error.to_string().contains("more runs than"), "{error}");
}

#[test]
fn plans_differ_by_what_they_say_not_by_how_it_is_written() {
    let spaced = PLAN.replace(" = ", "=") + "# a remark\n";
    assert_eq!(plan().difference(&Plan::parse(&spaced).unwrap()), None);
    for (from, to, words) in [
        ("rounds = 3", "rounds = 4", "`rounds` was 3 and is 4 now"),
        ("fifo:80", "rr:80", "policy = other, rr:80"),
        ("1kHz", "2kHz", "`command`"),
        ("ROS", "our", "`name`"),
    ] {
        let other = Plan::parse(&PLAN.replace(from, to)).unwrap();
        let difference = plan().difference(&other).unwrap();
        assert!(difference.contains(words), "{difference}");
    }
}

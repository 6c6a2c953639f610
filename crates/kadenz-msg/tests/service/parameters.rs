use std::thread;
use std::time::Duration;

use kadenz_msg::message::Message as _;
use kadenz_msg::service::messages::{ParameterAnswer, ParameterQuery, ParameterValue};
use kadenz_msg::service::parameters::{
    MAX_PARAMETERS, ParameterClient, ParameterError, Parameters, Setting,
};
use kadenz_msg::service::request::CallError;
use kadenz_rt::tuning::Tuning;

use crate::{LONG, SHORT, bus};

#[test]
fn others_see_name_value_range_and_description() {
    let bus = bus();
    let mut parameters = Parameters::new();
    parameters
        .integer("poles", 7, 1..=50, "pole pairs")
        .unwrap();
    parameters.truth("enabled", true, "").unwrap();
    parameters.number("gain", 0.5, 0.0..=1.0, "1/s").unwrap();
    parameters.text("mode", "idle", 10, "what it does").unwrap();
    let _served = parameters.serve(&bus, "arm", Tuning::default()).unwrap();
    let mut others = ParameterClient::new(&bus, "arm").unwrap();
    let list = others.list(LONG).unwrap();
    let names: Vec<_> = list.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["enabled", "gain", "mode", "poles"]);
    assert_eq!(list[0].value, Some(Setting::Bool(true)));
    assert_eq!((&list[0].least, &list[0].most), (&None, &None));
    assert_eq!(list[1].most, Some(Setting::Number(1.0)));
    assert_eq!(list[2].value, Some(Setting::Text("idle".into())));
    assert_eq!(list[2].most, Some(Setting::Integer(10)));
    assert_eq!(others.get("poles", LONG).unwrap(), list[3]);
    assert_eq!(list[3].description, "pole pairs");
}

#[test]
fn what_is_set_is_read_by_the_owner_and_reported_once() {
    let bus = bus();
    let mut parameters = Parameters::new();
    let poles = parameters.integer("poles", 7, 1..=50, "").unwrap();
    let gain = parameters.number("gain", 0.5, 0.0..=1.0, "").unwrap();
    let mode = parameters.text("mode", "idle", 10, "").unwrap();
    let enabled = parameters.truth("enabled", false, "").unwrap();
    let mut served = parameters.serve(&bus, "arm", Tuning::default()).unwrap();
    assert!(!served.changed());
    let mut others = ParameterClient::new(&bus, "arm").unwrap();
    let answer = others.set("poles", &Setting::Integer(9), LONG).unwrap();
    assert_eq!(answer.value, Some(Setting::Integer(9)));
    others.set("gain", &Setting::Integer(1), LONG).unwrap();
    others
        .set("mode", &Setting::Text("run".into()), LONG)
        .unwrap();
    others.set("enabled", &Setting::Bool(true), LONG).unwrap();
    assert!(served.changed());
    assert!(!served.changed(), "reported once");
    assert_eq!((poles.get(), gain.get(), enabled.get()), (9, 1.0, true));
    let mut text = String::new();
    mode.read_into(&mut text);
    assert_eq!((text.as_str(), mode.get().as_str()), ("run", "run"));
}

/// A query that no client of Kadenz sends.
fn set_mode(text: &str) -> Vec<u8> {
    let query = ParameterQuery {
        action: ParameterQuery::SET,
        name: "mode".to_owned(),
        value: ParameterValue {
            kind: ParameterValue::TEXT,
            text: text.to_owned(),
            ..ParameterValue::default()
        },
        ..ParameterQuery::default()
    };
    query.encode().unwrap()
}

#[test]
fn a_set_that_is_refused_says_why_and_changes_nothing() {
    let bus = bus();
    let mut parameters = Parameters::new();
    let poles = parameters.integer("poles", 7, 1..=50, "").unwrap();
    let gain = parameters.number("gain", 0.5, 0.0..=1.0, "").unwrap();
    parameters.text("mode", "idle", 10, "").unwrap();
    let mut served = parameters.serve(&bus, "arm", Tuning::default()).unwrap();
    let mut others = ParameterClient::new(&bus, "arm").unwrap();
    let mut refused = |name: &str, value: Setting, why: &str| {
        let error = others.set(name, &value, LONG).unwrap_err();
        assert!(matches!(error, CallError::Refused { .. }), "{error}");
        assert!(error.to_string().contains(why), "{error}");
    };
    refused("poles", Setting::Integer(51), "it may be 1 to 50, not 51");
    refused(
        "poles",
        Setting::Number(2.0),
        "it is an integer, not a number",
    );
    refused(
        "gain",
        Setting::Number(f64::NAN),
        "it may be 0 to 1, not NaN",
    );
    refused(
        "gain",
        Setting::Text("1".into()),
        "it is a number, not a text",
    );
    refused(
        "mode",
        Setting::Text("x".repeat(11)),
        "it may have 10 bytes, not 11",
    );
    refused(
        "pole",
        Setting::Integer(1),
        "there is no parameter \"pole\"",
    );
    assert!(others.get("pole", LONG).is_err());
    let mut by_hand = set_mode("a?b");
    let place = by_hand.iter().position(|it| *it == b'?').unwrap();
    by_hand[place] = 0;
    let mut client = bus
        .client::<ParameterQuery, ParameterAnswer>("KADENZ/PARAMETERS/arm")
        .unwrap();
    // LCM reads a NUL within a text and cannot write it.
    let error = client.call_bytes(&by_hand, LONG).unwrap_err();
    assert!(error.to_string().contains("a text has no NUL"), "{error}");
    assert_eq!(others.list(LONG).unwrap().len(), 3, "all can still be told");
    assert!(!served.changed());
    assert_eq!((poles.get(), gain.get()), (7, 0.5));
}

#[test]
fn a_long_list_comes_in_parts_and_a_thousand_is_the_most() {
    let bus = bus();
    let mut parameters = Parameters::new();
    for number in 0..MAX_PARAMETERS {
        let description = "d".repeat(300);
        let name = format!("p{number:03}");
        parameters.truth(&name, false, &description).unwrap();
    }
    let more = parameters.truth("more", false, "").unwrap_err();
    assert_eq!(more, ParameterError::TooMany);
    let served = parameters.serve(&bus, "arm", Tuning::default()).unwrap();
    let mut others = ParameterClient::new(&bus, "arm").unwrap();
    let list = others.list(LONG).unwrap();
    assert_eq!(list.len(), MAX_PARAMETERS);
    assert_eq!(list[999].name, "p999");
    assert!(served.counters().answered > 1);
}

#[test]
fn parameters_that_cannot_be_are_refused_at_once() {
    let mut parameters = Parameters::new();
    assert!(parameters.truth("", true, "").is_err());
    assert!(parameters.truth("a\0", true, "").is_err());
    assert!(parameters.truth("a", true, &"d".repeat(301)).is_err());
    assert!(parameters.text("t", "a\0", 5, "").is_err());
    assert!(parameters.text("t", "abcdef", 5, "").is_err());
    assert!(parameters.number("n", f64::NAN, 0.0..=1.0, "").is_err());
    parameters.truth("a", true, "").unwrap();
    let twice = parameters.integer("a", 1, 0..=2, "").unwrap_err();
    assert!(twice.to_string().contains("two parameters \"a\""));
    let outside = parameters.integer("b", 3, 0..=2, "").unwrap_err();
    assert!(outside.to_string().contains("may be 0 to 2, not 3"));
}

#[test]
fn a_program_that_is_not_there_is_a_timeout_and_nonsense_is_survived() {
    let bus = bus();
    let mut others = ParameterClient::new(&bus, "arm").unwrap();
    assert!(matches!(others.list(SHORT), Err(CallError::Timeout { .. })));
    // A program that always announces more parameters than it has.
    let _liar = bus
        .serve(
            "KADENZ/PARAMETERS/arm",
            Tuning::default(),
            |_: &ParameterQuery| {
                Ok(ParameterAnswer {
                    total: i32::MAX,
                    ..ParameterAnswer::default()
                })
            },
        )
        .unwrap();
    assert_eq!(others.list(LONG).unwrap(), []);
    assert!(others.get("gain", LONG).is_err());
}

#[test]
fn a_text_is_whole_while_it_is_set_and_numbers_are_never_mixed() {
    let bus = bus();
    let mut parameters = Parameters::new();
    let text = parameters.text("text", "aaaaaaaa", 100, "").unwrap();
    let number = parameters
        .number("n", 1.0, f64::MIN..=f64::MAX, "")
        .unwrap();
    let served = parameters.serve(&bus, "arm", Tuning::default()).unwrap();
    let mut others = ParameterClient::new(&bus, "arm").unwrap();
    let setting = thread::spawn(move || {
        for round in 0..100 {
            let (text, number) = match round % 2 {
                0 => ("bbbbbbbbbbbbbbbb", -1e300),
                _ => ("aaaaaaaa", 1.0),
            };
            others
                .set("text", &Setting::Text(text.into()), LONG)
                .unwrap();
            others.set("n", &Setting::Number(number), LONG).unwrap();
        }
    });
    let mut read = String::new();
    while !setting.is_finished() {
        text.read_into(&mut read);
        assert!(["aaaaaaaa", "bbbbbbbbbbbbbbbb"].contains(&read.as_str()));
        assert!([1.0, -1e300].contains(&number.get()));
        thread::sleep(Duration::from_micros(100));
    }
    setting.join().unwrap();
    drop(served);
    assert_eq!(number.get(), 1.0, "readable after the end of the server");
}

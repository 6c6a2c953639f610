use proptest::prelude::*;

use super::*;

const TEXT: &str = "package robot; struct pose_t { double position[3]; }";

fn at(ms: u64) -> MonotonicTime {
    MonotonicTime::from_ns(1_000_000_000 + ms * 1_000_000)
}

fn pose() -> Fingerprint {
    let types = Types::from_text(TEXT).unwrap();
    types.fingerprint("robot.pose_t").unwrap()
}

fn answer(fingerprint: Fingerprint, name: &str, text: &str) -> TypeAnswer {
    TypeAnswer {
        fingerprint: fingerprint.0.cast_signed(),
        name: name.to_owned(),
        text: text.to_owned(),
    }
}

#[test]
fn a_type_is_asked_for_again_at_ever_longer_pauses() {
    let mut requester = TypeRequester::default();
    let asked = (0..40_000).filter(|ms| matches!(requester.want(pose(), at(*ms)), LookupStep::Ask));
    assert_eq!(
        asked.collect::<Vec<_>>(),
        [0, 500, 1500, 3500, 7500, 15_500, 31_500]
    );
    assert!(matches!(
        requester.want(pose(), at(40_000)),
        LookupStep::Wait(7)
    ));
}

#[test]
fn noise_that_looks_like_new_types_is_asked_about_within_bounds() {
    let mut requester = TypeRequester::default();
    let mut asked = 0;
    for number in 0..10_000 {
        let noise = Fingerprint(number);
        // Ten a millisecond, for a second.
        asked += u32::from(matches!(
            requester.want(noise, at(number / 10)),
            LookupStep::Ask
        ));
    }
    assert!((50..=80).contains(&asked), "{asked}");
    assert_eq!(requester.entries.len(), MAX_TYPES);
    assert!(
        matches!(requester.want(pose(), at(2000)), LookupStep::Ask),
        "recovered"
    );
}

#[test]
fn an_answer_whose_text_has_the_fingerprint_is_believed_and_kept() {
    let mut requester = TypeRequester::default();
    let right = answer(pose(), "robot.pose_t", TEXT);
    assert!(requester.take_answer(&right).is_none(), "nobody asked");
    requester.want(pose(), at(0));
    let found = requester.take_answer(&right).unwrap().unwrap();
    assert_eq!(
        (found.name.as_str(), found.fingerprint),
        ("robot.pose_t", pose())
    );
    assert!(matches!(
        requester.want(pose(), at(1)),
        LookupStep::Known(_)
    ));
    assert!(requester.take_answer(&right).is_none(), "known already");
}

#[test]
fn what_does_not_have_the_fingerprint_is_never_believed() {
    let mut requester = TypeRequester::default();
    requester.want(pose(), at(0));
    let other = TEXT.replace("position", "rotation");
    let long = format!("// {}\n{TEXT}", "x".repeat(MAX_TEXT));
    let mut wrong = |name: &str, text: &str| {
        let refused = requester.take_answer(&answer(pose(), name, text)).unwrap();
        refused.unwrap_err().to_string()
    };
    assert!(wrong("robot.pose_t", &other).contains("has the fingerprint 0x"));
    assert!(wrong("robot.pose", TEXT).contains("does not describe robot.pose"));
    assert!(wrong("robot.pose_t", "struct {").contains("not a valid description"));
    assert!(wrong("robot.pose_t", &long).contains("more than 262144"));
    assert!(wrong("robot.pose_t", "").contains("does not describe"));
    assert!(matches!(requester.want(pose(), at(1)), LookupStep::Wait(1)));
}

#[test]
fn a_flood_of_wrong_answers_is_not_read_and_the_next_question_is_answered() {
    let mut requester = TypeRequester::default();
    requester.want(pose(), at(0));
    let wrong = answer(pose(), "robot.pose_t", "struct {");
    let read = (0..1000)
        .filter(|_| requester.take_answer(&wrong).is_some())
        .count();
    assert_eq!(read, 10);
    let right = answer(pose(), "robot.pose_t", TEXT);
    assert!(requester.take_answer(&right).is_none());
    assert!(matches!(requester.want(pose(), at(500)), LookupStep::Ask));
    assert!(requester.take_answer(&right).unwrap().is_ok());
}

proptest! {
    #[test]
    fn no_text_whatever_makes_it_panic_or_is_believed_for_a_fingerprint_it_has_not(
        fingerprint: u64, name in ".{0,30}", text in "(struct|package|int8_t|[{};a-c ]|\\PC){0,60}"
    ) {
        let mut requester = TypeRequester::default();
        requester.want(Fingerprint(fingerprint), at(0));
        let taken = requester.take_answer(&answer(Fingerprint(fingerprint), &name, &text));
        if let Some(Ok(found)) = taken {
            prop_assert_eq!(found.types.fingerprint(&name), Some(Fingerprint(fingerprint)));
        }
    }
}

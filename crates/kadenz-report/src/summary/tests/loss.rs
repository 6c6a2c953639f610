//! Verdicts of runs that lost packets.

use kadenz_record::run::labels::{VALUE, labels};
use kadenz_record::run::messages::{Messages, Subscriber};
use kadenz_record::run::network::{Flow, Network};

use super::*;
use crate::testing::run_of;

/// The verdicts of the round trips to two devices, together and each, and of the beat.
fn verdicts_of_lossy(lost: u64, max_loss: Option<MaxLoss>) -> Vec<Standing> {
    let flow = |device: &str, lost| Flow {
        device: device.into(),
        sent: 500,
        answered: 500 - lost,
        lost,
        ..Flow::default()
    };
    let network = Network {
        flows: vec![flow("foot", lost), flow("hand", 0)],
        max_loss,
        ..Network::default()
    };
    let run = Run {
        network: Some(network),
        ..Run::default()
    };
    let series = |name: &str, value: &str, kind| Series {
        name: name.into(),
        labels: labels([(VALUE, value)]),
        kind,
        deadline_ns: Some(400_000),
        ..Series::default()
    };
    let all = [
        series(RESPONSE, RESPONSE, Kind::Latency),
        series("foot.response", RESPONSE, Kind::Latency),
        series("hand.response", RESPONSE, Kind::Latency),
        series("lateness", "lateness", Kind::Lateness),
    ];
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("run");
    let mut writer = RunWriter::create(&dir, run).unwrap();
    let mut recorders = all.map(|series| {
        let spec = SeriesSpec { series, raw: false };
        writer.series(spec).unwrap()
    });
    let running = writer.start(Duration::from_secs(1)).unwrap();
    for recorder in &mut recorders {
        for sequence in 0..400 {
            recorder.record(Sample {
                sequence,
                value_ns: 50_000,
                ..Sample::default()
            });
        }
    }
    running.finish(EndedBy::Finished).unwrap();
    let summary = Summary::of_run(&dir).unwrap();
    let verdicts = summary.series.iter().map(|it| it.verdict.unwrap());
    assert!(
        verdicts
            .clone()
            .all(|it| it.kept() == (it.standing == Standing::Kept))
    );
    verdicts.map(|it| it.standing).collect()
}

#[test]
fn round_trips_beyond_the_permitted_loss_keep_no_deadline_although_none_was_late() {
    use Standing::Kept;
    let lost = Standing::ValuesLost(Loss::Certain);
    assert_eq!(verdicts_of_lossy(3, None), [lost, lost, Kept, Kept]);
    let permitted = Some(MaxLoss::Packets(3));
    assert_eq!(verdicts_of_lossy(3, permitted), [Kept; 4]);
    assert_eq!(verdicts_of_lossy(4, permitted), [lost, lost, Kept, Kept]);
}

/// A check measures round trips to one device and messages to one subscriber.
#[test]
fn lost_packets_are_not_excused_by_messages_that_all_arrived() {
    let flow = Flow {
        sent: 500,
        answered: 497,
        lost: 3,
        ..Flow::default()
    };
    let messages = Messages {
        subscribers: vec![Subscriber::default()],
        ..Messages::default()
    };
    let run = Run {
        network: Some(Network {
            flows: vec![flow],
            ..Network::default()
        }),
        messages: Some(messages),
        ..Run::default()
    };
    let summary = Summary {
        run,
        ..run_of("check", Vec::new())
    };
    let loss = |value: &str| {
        summary.loss(&Series {
            name: value.into(),
            labels: labels([(VALUE, value)]),
            kind: Kind::Latency,
            ..Series::default()
        })
    };
    assert_eq!(loss(RESPONSE), Some(Loss::Certain));
    assert_eq!(loss(ONE_WAY), None);
}

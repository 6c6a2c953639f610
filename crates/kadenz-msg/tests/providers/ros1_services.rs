//! Services of `ros1://`, with rospy.

use std::time::Duration;

use kadenz_msg::provider::ros1::{ServiceError, ServiceType};

use crate::ros1::{bus, master, ros, rospy, until_all_said, until_said};

const SOON: Duration = Duration::from_secs(10);

fn level() -> ServiceType {
    ServiceType::new("roscpp/SetLoggerLevel", "51da076440d78ca1684d36c868df61ea")
}

/// Two strings in ROS's serialisation.
fn texts(texts: [&str; 2]) -> Vec<u8> {
    let texts = texts.map(|it| [&(it.len() as u32).to_le_bytes(), it.as_bytes()].concat());
    texts.concat()
}

#[test]
fn rospy_s_services_are_called_and_report_their_type_and_failure() {
    let Some(()) = ros("rospy_s_services_are_called_and_report_their_type_and_failure") else {
        return;
    };
    let (master, level) = (master(), level());
    let rospy = rospy(&master, "serve");
    until_said(&rospy, "serves");
    let bus = bus(&master);
    let mut client = bus.service_client("robot/level", &level.md5);
    assert_eq!(client.service_type(SOON).unwrap(), level);
    for name in ["Warn", "Info"] {
        let answer = client.call(&texts(["arm", name]), SOON).unwrap();
        assert!(answer.is_empty());
        until_said(&rospy, &format!("level: arm {name}"));
    }
    let error = client.call(&texts(["none", "Warn"]), SOON).unwrap_err();
    let ServiceError::Failed { reason, .. } = &error else {
        panic!("{error}");
    };
    assert!(reason.contains("no such logger"), "{reason}");
    client.call(&texts(["arm", "Error"]), SOON).unwrap();
    // Every node of rospy offers this service, which answers with the number of loggers and the name and level of each.
    let loggers = "rospy_end_serve/get_loggers";
    let mut client = bus.service_client(loggers, "32e97e85527d4678a8f9279894bb64b0");
    let answer = client.call(&[], SOON).unwrap();
    let needle = b"rosout";
    let has = answer.windows(needle.len()).any(|part| part == needle);
    assert!(answer[0] > 0 && has, "{answer:?}");
}

#[test]
fn rospy_refuses_another_type_and_the_master_a_service_that_is_not_there() {
    let test = "rospy_refuses_another_type_and_the_master_a_service_that_is_not_there";
    let Some(()) = ros(test) else {
        return;
    };
    let master = master();
    let rospy = rospy(&master, "serve");
    until_said(&rospy, "serves");
    let bus = bus(&master);
    let call = |service: &str, md5: &str| bus.service_client(service, md5).call(&[], SOON);
    let refused = call("/robot/level", "32e97e85527d4678a8f9279894bb64b0");
    assert!(
        matches!(refused, Err(ServiceError::Refused { .. })),
        "{refused:?}"
    );
    let missing = call("/robot/nowhere", "*");
    assert!(
        matches!(missing, Err(ServiceError::NotOffered { .. })),
        "{missing:?}"
    );
}

#[test]
fn rospy_calls_ours_and_hears_of_failures_and_of_another_type() {
    let Some(()) = ros("rospy_calls_ours_and_hears_of_failures_and_of_another_type") else {
        return;
    };
    let (master, level) = (master(), level());
    let server = bus(&master).offer_service("/robot/level", &level, 2, |request| {
        if request == texts(["rosout", "Warn"]) {
            return Ok(Vec::new());
        }
        Err("only Warn is known".to_owned())
    });
    let server = server.unwrap();
    let calls = rospy(&master, "call Fatal Warn");
    let said = until_all_said(&calls, &["failed", "answered: Warn"]);
    assert!(said[0].contains("only Warn is known"), "{said:?}");
    let other = rospy(&master, "call_other");
    let failure = until_said(&other, "failed");
    assert!(failure.contains("md5sum"), "{failure}");
    drop(server);
    let gone = bus(&master)
        .service_client("/robot/level", "*")
        .call(&[], SOON);
    assert!(
        matches!(gone, Err(ServiceError::NotOffered { .. })),
        "{gone:?}"
    );
}

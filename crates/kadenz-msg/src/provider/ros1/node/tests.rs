use super::publishers::{MAX_ALL_PUBLISHERS, MAX_PUBLISHERS, chosen};
use super::*;

/// A node that subscribes to topics, without threads.
fn subscribed(topics: &[&str]) -> RosNodeContext {
    let state = RosNodeState {
        subscribed: topics
            .iter()
            .map(|it| ((*it).to_owned(), BTreeSet::new()))
            .collect(),
        ..RosNodeState::default()
    };
    RosNodeContext {
        master: String::new(),
        caller: "/me".into(),
        host: IpAddr::from([127, 0, 0, 1]),
        uri: String::new(),
        state: Lock::new(state),
        ends: AtomicBool::new(false),
    }
}

/// Returns a node's answer to an update by publishers at these ports.
fn update(node: &RosNodeContext, topic: &str, ports: impl IntoIterator<Item = u32>) -> XmlRpcValue {
    let uris = ports.into_iter();
    let uris = uris.map(|port| XmlRpcValue::Text(format!("http://127.0.0.1:{port}/")));
    let method = "publisherUpdate".to_owned();
    let arguments = vec![
        XmlRpcValue::text("/master"),
        XmlRpcValue::text(topic),
        XmlRpcValue::List(uris.collect()),
    ];
    node.answer(&Call { method, arguments })
}

#[test]
fn no_caller_names_more_publishers_than_a_node_connects_to() {
    let topics: Vec<String> = (0..6).map(|it| format!("/{it}")).collect();
    let node = subscribed(&topics.iter().map(String::as_str).collect::<Vec<_>>());
    let count = |node: &RosNodeContext| node.without_address().len();
    update(&node, "/0", [70_000]);
    let answer = update(&node, "/0", (1..=5000).chain([70_000]));
    let [code, XmlRpcValue::Text(reason), _] = answer.as_list().unwrap() else {
        panic!("{answer:?}");
    };
    assert_eq!(*code, XmlRpcValue::Int(0));
    assert!(reason.contains("256 of a topic"), "{reason}");
    assert_eq!(count(&node), MAX_PUBLISHERS);
    let known = ("/0".to_owned(), "http://127.0.0.1:70000/".to_owned());
    assert!(
        node.without_address().contains(&known),
        "it was there before"
    );
    for topic in &topics {
        update(&node, topic, 1..=5000);
    }
    assert_eq!(count(&node), MAX_ALL_PUBLISHERS);
    // An honest update makes room again, and is answered as ever.
    let answer = update(&node, "/0", [1, 2]);
    assert_eq!(answer.as_list().unwrap()[0], XmlRpcValue::Int(1));
    let of_first = |it: &&(String, String)| it.0 == "/0";
    assert_eq!(node.without_address().iter().filter(of_first).count(), 2);
}

#[test]
fn a_publisher_that_is_named_several_times_is_connected_to_once() {
    let named = [
        "http://a:1/",
        "http://a:1/x",
        "http://a:1",
        "nonsense",
        "http://b:1/",
    ];
    let (chosen, is_all) = chosen(&BTreeSet::new(), named.into_iter(), 2);
    let chosen: Vec<_> = chosen.iter().map(String::as_str).collect();
    assert_eq!((&chosen[..], is_all), (&[named[0], named[4]][..], true));
}

#[test]
fn publishers_that_send_from_one_place_are_one_source() {
    let node = subscribed(&["/t"]);
    node.state.with(|state| {
        for (id, uri) in [(1, "http://a:1/"), (2, "http://b:1/")] {
            let key = ("/t".to_owned(), uri.to_owned());
            state.addresses.insert(key, (id, "c:2".to_owned()));
        }
    });
    let sources: Vec<u64> = node.sources().into_iter().map(|it| it.id).collect();
    assert_eq!(sources, [1]);
}

#[test]
fn publishers_that_a_new_master_does_not_name_stay_until_they_are_silent() {
    let node = subscribed(&["/t"]);
    let uris = |node: &RosNodeContext| -> Vec<String> {
        let all = node.without_address();
        all.into_iter().map(|(_, uri)| uri).collect()
    };
    let uri = |port: u32| format!("http://127.0.0.1:{port}/");
    update(&node, "/t", [1, 2, 3]);
    node.state.with(RosNodeState::forget);
    update(&node, "/t", [3, 4]);
    assert_eq!(uris(&node), [1, 2, 3, 4].map(uri));
    // From now on the master alone decides whether the third one is there.
    update(&node, "/t", [4]);
    assert_eq!(uris(&node), [1, 2, 4].map(uri));
    let ask = |answers: bool| {
        let first = node.state.with(|state| state.unlisted[0].clone());
        node.state.with(|state| state.note(&first, answers));
    };
    // Both are queried in turn: the first one is silent twice, answers, and is silent again.
    for answers in [false, true, false, true, true, true, false, false] {
        ask(answers);
    }
    assert_eq!(uris(&node), [1, 2, 4].map(uri));
    for _ in 0..4 {
        ask(false);
    }
    assert_eq!(uris(&node), [4].map(uri));
    assert!(node.state.with(|state| state.unlisted.is_empty()));
}

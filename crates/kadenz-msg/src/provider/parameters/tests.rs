use super::*;

fn address(url: &str) -> Address {
    Address::parse(url).unwrap()
}

#[test]
fn an_unknown_parameter_is_refused_with_a_list_of_the_known() {
    let address = address("udpm://239.255.76.67:7667?tll=1");
    let mut parameters = address.parameters();
    parameters.number("ttl", 0..=255).unwrap();
    parameters.text("iface");
    let error = parameters.finish().unwrap_err().to_string();
    assert!(error.contains("no parameter \"tll\""), "{error}");
    assert!(error.contains("it has ttl, iface"), "{error}");
}

#[test]
fn a_value_that_cannot_be_is_refused_with_what_could() {
    let address = address("x://?ttl=256&size=16Mb&wait=50&loud=maybe&mode=q");
    let mut parameters = address.parameters();
    let errors = [
        parameters.number("ttl", 0..=255).unwrap_err(),
        parameters.bytes("size").unwrap_err(),
        parameters.span("wait").unwrap_err(),
        parameters.switch("loud").unwrap_err(),
        parameters
            .choice("mode", &[("r", 0), ("w", 1)])
            .unwrap_err(),
    ];
    let remedies = ["0 to 255", "16MB", "50us", "yes or no", "r, w"];
    for (error, remedy) in errors.iter().zip(remedies) {
        assert!(error.to_string().contains(remedy), "{error}");
    }
}

#[test]
fn bytes_and_spans_have_units() {
    for (text, expected) in [
        ("0", Some(0)),
        ("4096", Some(4096)),
        ("64KiB", Some(65_536)),
        ("1.5kB", Some(1500)),
        ("16MB", Some(16_000_000)),
        ("2GiB", Some(1 << 31)),
        ("0.5", None),
        ("-1", None),
        ("16 MB", Some(16_000_000)),
        ("16M", None),
        ("1e9", None),
        ("99999999999GB", None),
    ] {
        assert_eq!(bytes(text), expected, "{text}");
    }
    assert_eq!(span("1.5ms"), Some(Duration::from_micros(1500)));
    assert_eq!(span("250ns"), Some(Duration::from_nanos(250)));
    assert_eq!(span("-1s"), None);
    assert_eq!(span("99999999999999999999s"), None);
}

#[test]
fn a_location_is_a_host_and_port_or_a_path() {
    let defaults = |url| address(url).socket_address("127.0.0.1".parse().unwrap(), 7700);
    assert_eq!(defaults("tcpq://").unwrap().to_string(), "127.0.0.1:7700");
    assert_eq!(defaults("t://[::1]:5").unwrap().to_string(), "[::1]:5");
    assert_eq!(defaults("t://[::1]").unwrap().to_string(), "[::1]:7700");
    assert_eq!(
        defaults("t://10.0.0.1/x").unwrap().to_string(),
        "10.0.0.1:7700"
    );
    assert!(defaults("t://robot:1").is_err());
    assert!(defaults("t://10.0.0.1:65536").is_err());
    assert_eq!(
        address("t://robot:1/a/b?c=d").host_and_port().unwrap(),
        ("robot", Some(1))
    );
    let endpoint = |url| address(url).endpoint("localhost", 5672).unwrap();
    assert_eq!(endpoint("t://robot:1/a"), "robot:1");
    assert_eq!(endpoint("t://[::1]"), "[::1]:5672");
    assert_eq!(endpoint("t://"), "localhost:5672");
    assert_eq!(address("file:///tmp/x.lcm?mode=r").location(), "/tmp/x.lcm");
}

#[test]
fn what_is_not_a_url_is_refused() {
    for url in [
        "",
        "udpm",
        "://x",
        "u dp://x",
        "u://x?ttl",
        "u://x?a=1&a=2",
        "u://x?a=%4",
        "u://x?a=%zz",
    ] {
        assert!(Address::parse(url).is_err(), "{url}");
    }
    assert!(Address::parse(&format!("u://{}", "x".repeat(5000))).is_err());
    let empty = address("udpm://?ttl=&recv_buf_size=");
    assert_eq!(empty.parameters().number("ttl", 0..=255).unwrap(), None);
    let escaped = address("amqp://?password=a%26b%3D%25");
    assert_eq!(escaped.parameters().text("password"), Some("a&b=%"));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(url in ".{0,200}") {
        if let Ok(address) = Address::parse(&url) {
            let _ = address.host_and_port();
            let mut parameters = address.parameters();
            let _ = parameters.bytes("a");
            let _ = parameters.span("a");
            let _ = parameters.finish();
        }
    }
}

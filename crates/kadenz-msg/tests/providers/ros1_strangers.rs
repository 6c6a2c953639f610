//! Faulty servers and clients of services, which a fake master announces to the clients and servers of Kadenz.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use kadenz_msg::provider::parameters::Address;
use kadenz_msg::provider::ros1::{Ros1, ServiceClient, ServiceError, ServiceServer, ServiceType};

const SOON: Duration = Duration::from_secs(10);

/// A fake master that answers every call with the URI of `service`, or else with the last registered URI.
fn master(service: Option<u16>) -> (Ros1, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let uri = format!("rosrpc://127.0.0.1:{}", service.unwrap_or(1));
    let uri = Arc::new(Mutex::new(uri));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let uri = Arc::clone(&uri);
            thread::spawn(move || answer(stream.unwrap(), &uri));
        }
    });
    let url = format!("ros1://127.0.0.1:{port}?largest=1MiB");
    let ros = Ros1::open(&Address::parse(&url).unwrap()).unwrap();
    (ros, port)
}

/// Answers one call.
fn answer(mut stream: TcpStream, uri: &Mutex<String>) {
    let (mut received, mut room) = (String::new(), [0; 4096]);
    while !received.contains("</methodCall>") {
        match stream.read(&mut room) {
            // A client that only determines its own address sends nothing.
            Ok(0) | Err(_) => return,
            Ok(count) => received.push_str(std::str::from_utf8(&room[..count]).unwrap()),
        }
    }
    let mut uri = uri.lock().unwrap();
    if let Some(from) = received.find("rosrpc://") {
        *uri = received[from..].split('<').next().unwrap().to_owned();
    }
    let body = format!(
        "<methodResponse><params><param><value><array><data><value><i4>1</i4></value>\
         <value></value><value>{uri}</value></data></array></value></param></params></methodResponse>"
    );
    // The caller may have gone.
    let _ = write!(stream, "HTTP/1.0 200 OK\r\n\r\n{body}");
}

fn header(fields: &[&str]) -> Vec<u8> {
    let counted = |bytes: &[u8]| [&(bytes.len() as u32).to_le_bytes(), bytes].concat();
    let fields: Vec<_> = fields.iter().map(|it| counted(it.as_bytes())).collect();
    counted(&fields.concat())
}

/// Reads the next header.
fn read_header(stream: &mut TcpStream) -> Vec<u8> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut fields = vec![0; u32::from_le_bytes(length) as usize];
    stream.read_exact(&mut fields).unwrap();
    fields
}

/// A client of a fake server that reads the header and sends `says`, and then ends, or stays connected if `stays` is
/// set.
fn client_of(says: &[&[u8]], stays: bool) -> ServiceClient {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let says = says.concat();
    thread::spawn(move || {
        let mut kept = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            read_header(&mut stream);
            stream.write_all(&says).unwrap();
            if stays {
                kept.push(stream);
                continue;
            }
            stream.shutdown(Shutdown::Write).unwrap();
            // Wait until the client has gone, too.
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
    master(Some(port)).0.service_client("/a", "*")
}

#[test]
fn whatever_a_server_says_the_call_ends_with_an_error() {
    let greeted = header(&["type=a/A", "md5sum=abc"]);
    let error = |says: &[&[u8]], stays: bool| {
        let timeout = if stays { SOON / 50 } else { SOON };
        client_of(says, stays).call(b"x", timeout).unwrap_err()
    };
    let lost = |says: &[&[u8]]| {
        let error = error(says, false);
        assert!(matches!(error, ServiceError::Lost { .. }), "{error}");
    };
    lost(&[]);
    lost(&[&[255; 4]]);
    lost(&[&[4, 0, 0, 0, 255, 255, 255, 255]]);
    lost(&[&greeted[..7]]);
    lost(&[&greeted]);
    lost(&[&greeted, &[1, 9]]);
    lost(&[&greeted, &[1, 9, 0, 0, 0, 7, 7]]);
    let long = error(&[&greeted, &[1, 255, 255, 255, 255]], false);
    let ServiceError::TooLong { length, .. } = long else {
        panic!("{long}");
    };
    assert_eq!(length, u32::MAX as usize);
    let silent = error(&[&greeted, &[1, 9, 0, 0, 0, 7]], true);
    assert!(matches!(silent, ServiceError::TimedOut { .. }), "{silent}");
    let refused = error(&[&header(&["error=wrong md5sum"])], false);
    assert!(refused.to_string().contains("wrong md5sum"), "{refused}");
    let failed = error(&[&greeted, &[0, 2, 0, 0, 0], b"no"], false);
    assert!(matches!(failed, ServiceError::Failed { .. }), "{failed}");
}

#[test]
fn after_a_call_that_was_too_late_the_next_one_gets_its_own_answer() {
    let (ros, _) = master(None);
    let (release, released) = mpsc::sync_channel(1);
    let released = Mutex::new(released);
    let server = offer(&ros, 1, move |request| {
        if request[0] == 250 {
            released.lock().unwrap().recv_timeout(SOON).unwrap();
        }
        Ok(request.to_vec())
    });
    let mut client = ros.service_client("/a", "*");
    client.call(&[0], SOON).unwrap();
    let late = client.call(&[250], Duration::from_millis(20));
    release.send(()).unwrap();
    assert!(matches!(late, Err(ServiceError::TimedOut { .. })));
    assert_eq!(client.call(&[1], SOON).unwrap(), [1]);
    drop(server);
}

fn offer(
    ros: &Ros1,
    threads: usize,
    handler: impl Fn(&[u8]) -> Result<Vec<u8>, String> + Send + Sync + 'static,
) -> ServiceServer {
    let kind = ServiceType::new("a/A", "abc");
    ros.offer_service("a", &kind, threads, handler).unwrap()
}

#[test]
fn no_more_threads_answer_than_were_asked_for_and_every_client_is_served() {
    static NOW: AtomicUsize = AtomicUsize::new(0);
    static MOST: AtomicUsize = AtomicUsize::new(0);
    let (ros, _) = master(None);
    let _server = offer(&ros, 2, |request| {
        MOST.fetch_max(NOW.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(2));
        NOW.fetch_sub(1, Ordering::SeqCst);
        Ok(request.to_vec())
    });
    thread::scope(|scope| {
        for number in 0..8 {
            let mut client = ros.service_client("/a", "abc");
            scope.spawn(move || {
                for length in [0, 1, 100_000, 1 << 20] {
                    let request = vec![number; length];
                    assert!(client.call(&request, SOON).unwrap() == request);
                }
            });
        }
    });
    assert_eq!(MOST.load(Ordering::SeqCst), 2);
}

#[test]
fn a_function_that_panics_or_says_too_much_fails_that_call_alone() {
    let (ros, _) = master(None);
    let _server = offer(&ros, 1, |request| match request {
        [] => panic!("a test's panic"),
        [length] => Ok(vec![0; usize::from(*length) << 20]),
        _ => Ok(request.to_vec()),
    });
    let mut client = ros.service_client("/a", "*");
    for request in [&[][..], &[2]] {
        let failed = client.call(request, SOON);
        assert!(
            matches!(failed, Err(ServiceError::Failed { .. })),
            "{failed:?}"
        );
        assert_eq!(client.call(b"ok", SOON).unwrap(), b"ok");
    }
    let long = client.call(&vec![0; (1 << 20) + 1], SOON);
    assert!(matches!(long, Err(ServiceError::TooLong { .. })));
}

/// A connection to the service, looked up as a client of Kadenz does.
fn connect(master: u16) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", master)).unwrap();
    stream.write_all(b"</methodCall>").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let uri = answer.split("rosrpc://").nth(1).unwrap();
    TcpStream::connect(uri.split('<').next().unwrap()).unwrap()
}

#[test]
fn whatever_a_client_says_the_others_are_served() {
    let (ros, port) = master(None);
    let _server = offer(&ros, 1, |request| Ok(request.to_vec()));
    let mut good = ros.service_client("/a", "abc");
    let greeting = header(&["service=/a", "md5sum=abc", "persistent=1"]);
    let mut kept = Vec::new();
    for says in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[255; 64],
        &[4, 0, 0, 0, 255, 255, 255, 255],
        &greeting[..9],
        &header(&["service=/other", "md5sum=abc"]),
        &header(&["service=/a", "md5sum=xyz"]),
        &[&greeting[..], &[9, 0, 0, 0, 1]].concat(),
        &[&greeting[..], &[255; 100]].concat(),
    ] {
        let mut stream = connect(port);
        stream.write_all(says).unwrap();
        kept.push(stream);
        assert_eq!(good.call(says, SOON).unwrap(), says);
    }
    let mut long = connect(port);
    long.write_all(&greeting).unwrap();
    read_header(&mut long);
    long.write_all(&[255; 4]).unwrap();
    let mut answer = Vec::new();
    long.read_to_end(&mut answer).unwrap();
    assert_eq!(answer[0], 0);
    let reason = String::from_utf8_lossy(&answer[5..]);
    assert!(reason.contains("4294967295 bytes"), "{reason}");
}

#[test]
fn more_silent_clients_than_slots_keep_no_client_out() {
    let (ros, port) = master(None);
    let _server = offer(&ros, 1, |request| Ok(request.to_vec()));
    let silent: Vec<_> = (0..300).map(|_| connect(port)).collect();
    // Wait until the server no longer protects the first clients as newcomers.
    thread::sleep(Duration::from_millis(150));
    let mut client = ros.service_client("/a", "abc");
    assert_eq!(client.call(b"x", SOON).unwrap(), b"x");
    drop(silent);
}

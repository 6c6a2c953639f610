#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use super::*;

const SDP: &str = "v=0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:track1\r\n";

fn start() -> MonotonicTime {
    MonotonicTime::from_ns(0)
}

fn client(url: &str, ports: Option<(u16, u16)>) -> Client {
    let url = CameraUrl::parse(url).unwrap();
    Client::new(
        url,
        ports,
        "nonce".to_owned(),
        Duration::from_secs(10),
        start(),
    )
}

fn output(client: &mut Client) -> String {
    String::from_utf8(client.output()).unwrap()
}

/// Answers the request that was sent last.
fn answer(
    client: &mut Client,
    status: u16,
    fields: &str,
    body: &str,
) -> Result<Option<RtspEvent>, RtspError> {
    let head = format!("RTSP/1.0 {status} X\r\n{fields}\r\n");
    let (head, _) = Head::parse(head.as_bytes()).unwrap().unwrap();
    client.response(status, &head, body.as_bytes(), start())
}

fn playing(client: &mut Client, session: &str) {
    answer(client, 200, "", SDP).unwrap();
    answer(client, 200, session, "").unwrap();
    assert_eq!(answer(client, 200, "", ""), Ok(Some(RtspEvent::Playing)));
    client.output();
}

#[test]
fn a_stream_is_opened_by_three_questions() {
    let mut client = client("rtsp://u:p@h/cam", None);
    assert!(
        output(&mut client).starts_with(
            "DESCRIBE rtsp://h/cam RTSP/1.0\r\nCSeq: 1\r\nAccept: application/sdp\r\n"
        )
    );
    assert_eq!(
        answer(
            &mut client,
            200,
            "CSeq: 1\r\nContent-Base: rtsp://h/cam/\r\n",
            SDP
        ),
        Ok(None)
    );
    let asked = output(&mut client);
    assert!(
        asked.starts_with("SETUP rtsp://h/cam/track1 RTSP/1.0\r\nCSeq: 2\r\n"),
        "{asked}"
    );
    assert!(
        asked.contains("Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n"),
        "{asked}"
    );
    let set_up = "CSeq: 2\r\nTransport: RTP/AVP/TCP;interleaved=4-5\r\nSession: 7 ;timeout=20\r\n";
    let event = answer(&mut client, 200, set_up, "").unwrap();
    assert!(
        matches!(
            event,
            Some(RtspEvent::SetUp(GrantedTransport {
                channels: (4, 5),
                ..
            }))
        ),
        "{event:?}"
    );
    let asked = output(&mut client);
    assert!(
        asked.starts_with("PLAY rtsp://h/cam/ RTSP/1.0\r\n") && asked.contains("Session: 7\r\n"),
        "{asked}"
    );
    assert_eq!(
        answer(&mut client, 200, "CSeq: 3\r\n", ""),
        Ok(Some(RtspEvent::Playing))
    );
    client.tear_down(start());
    assert!(output(&mut client).starts_with("TEARDOWN rtsp://h/cam/"));
}

#[test]
fn an_answer_to_another_question_is_ignored_and_one_without_number_is_not() {
    let mut client = client("rtsp://h/cam", None);
    client.output();
    assert_eq!(answer(&mut client, 200, "CSeq: 9\r\n", SDP), Ok(None));
    assert!(client.video().is_none());
    assert_eq!(answer(&mut client, 100, "", ""), Ok(None));
    assert_eq!(answer(&mut client, 200, "", SDP), Ok(None));
    assert!(client.video().is_some());
}

#[test]
fn a_password_is_sent_once_and_never_shown() {
    let asks = "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\n";
    let mut without = client("rtsp://h/cam", None);
    assert_eq!(
        answer(&mut without, 401, asks, ""),
        Err(RtspError::NoPassword)
    );
    let mut wrong = client("rtsp://u:secret@h/cam", None);
    assert_eq!(answer(&mut wrong, 401, asks, ""), Ok(None));
    let asked = output(&mut wrong);
    assert!(
        asked.contains("Authorization: Digest username=\"u\"") && !asked.contains("secret"),
        "{asked}"
    );
    let error = answer(&mut wrong, 401, asks, "").unwrap_err();
    assert_eq!(error, RtspError::WrongPassword);
    assert!(!format!("{error} {wrong:?}").contains("secret"));
    let mut strange = client("rtsp://u:secret@h/cam", None);
    assert_eq!(
        answer(&mut strange, 401, "WWW-Authenticate: NTLM\r\n", ""),
        Err(RtspError::Authentication)
    );
}

#[test]
fn a_nonce_that_grew_old_is_replaced() {
    let mut client = client("rtsp://u:p@h/cam", None);
    answer(
        &mut client,
        401,
        "WWW-Authenticate: Digest realm=\"r\", nonce=\"1\"\r\n",
        "",
    )
    .unwrap();
    answer(&mut client, 200, "", SDP).unwrap();
    client.output();
    answer(
        &mut client,
        401,
        "WWW-Authenticate: Digest realm=\"r\", nonce=\"2\"\r\n",
        "",
    )
    .unwrap();
    let asked = output(&mut client);
    assert!(
        asked.starts_with("SETUP") && asked.contains("nonce=\"2\""),
        "{asked}"
    );
}

#[test]
fn a_camera_without_udp_is_asked_for_tcp() {
    let mut client = client("rtsp://h/cam", Some((5000, 5001)));
    answer(&mut client, 200, "", SDP).unwrap();
    assert!(output(&mut client).contains("Transport: RTP/AVP;unicast;client_port=5000-5001\r\n"));
    assert_eq!(answer(&mut client, 461, "", ""), Ok(None));
    assert!(output(&mut client).contains("Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n"));
    assert_eq!(
        answer(&mut client, 461, "", ""),
        Err(RtspError::Transport(Transport::Tcp))
    );
}

#[test]
fn signs_of_life_are_sent_by_what_the_camera_knows() {
    let mut client = client("rtsp://h/cam", None);
    playing(&mut client, "Session: 7;timeout=20\r\n");
    let after = |seconds| start() + Duration::from_secs(seconds);
    client.time(after(9)).unwrap();
    assert_eq!(output(&mut client), "");
    client.time(after(10)).unwrap();
    assert!(output(&mut client).starts_with("OPTIONS "));
    answer(&mut client, 200, "Public: OPTIONS, GET_PARAMETER\r\n", "").unwrap();
    client.time(after(20)).unwrap();
    assert!(output(&mut client).starts_with("GET_PARAMETER "));
    // A camera that refuses it later.
    answer(&mut client, 501, "", "").unwrap();
    client.time(after(30)).unwrap();
    assert!(output(&mut client).starts_with("OPTIONS "));
    // A camera that does not answer gets the request again.
    client.time(after(39)).unwrap();
    assert_eq!(output(&mut client), "");
    client.time(after(40)).unwrap();
    assert!(output(&mut client).starts_with("OPTIONS "));
    let gone = answer(&mut client, 454, "", "");
    assert_eq!(
        gone,
        Err(RtspError::Status {
            method: "OPTIONS",
            status: 454
        })
    );
}

#[test]
fn what_a_camera_refuses_or_leaves_unanswered_is_an_error() {
    let mut missing = client("rtsp://h/cam", None);
    let error = RtspError::Status {
        method: "DESCRIBE",
        status: 404,
    };
    assert_eq!(answer(&mut missing, 404, "", ""), Err(error));
    let mut silent = client("rtsp://h/cam", None);
    let error = silent.time(start() + Duration::from_secs(10));
    assert_eq!(error, Err(RtspError::NoAnswer("DESCRIBE")));
    let mut elsewhere = client("rtsp://h/cam", None);
    let event = answer(&mut elsewhere, 302, "Location: rtsp://other/cam\r\n", "");
    assert_eq!(
        event,
        Ok(Some(RtspEvent::Redirected("rtsp://other/cam".to_owned())))
    );
}

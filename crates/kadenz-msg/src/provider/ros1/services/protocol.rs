//! The protocol of the two sides of a service, sans-IO: a header each, then requests and answers in turn, all
//! lengths little-endian.

use std::sync::Arc;

use super::super::tcpros::{MAX_HEADER, field, read_header, write_header};
use super::ServiceType;
use crate::provider::stream::ProtocolError;

/// The result byte and the length in front of an answer.
pub(super) const ANSWER_HEAD: usize = 5;

/// A service in the form of its server's header.
#[derive(Debug)]
pub(in crate::provider) struct Offer {
    pub(in crate::provider) service: String,
    pub(in crate::provider) kind: ServiceType,
    pub(in crate::provider) caller: Arc<str>,
    /// The maximum length of a request and of an answer, in bytes.
    pub(in crate::provider) longest: usize,
}

/// The item at the front of a client's bytes.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::provider) enum ClientInput<'a> {
    /// The item is incomplete.
    Short,
    /// Its header, of that many bytes.
    Header(usize),
    /// A request, of that many bytes.
    Request(usize, &'a [u8]),
    /// The last item: the answer was a refusal, or the client wanted no more than the header.
    Last,
}

/// The state of one client at its server, sans-IO.
#[derive(Debug)]
pub(in crate::provider) struct ClientSession {
    offer: Arc<Offer>,
    has_handshake: bool,
    is_persistent: bool,
}

impl ClientSession {
    pub(in crate::provider) fn new(offer: Arc<Offer>) -> Self {
        Self {
            offer,
            has_handshake: false,
            is_persistent: false,
        }
    }

    pub(super) fn has_handshake(&self) -> bool {
        self.has_handshake
    }

    /// Returns whether there may be another request after the first.
    pub(super) fn is_persistent(&self) -> bool {
        self.is_persistent
    }

    /// Reads the front of the received bytes. Immediate answers go to `reply`.
    pub(in crate::provider) fn receive<'a>(
        &mut self,
        bytes: &'a [u8],
        reply: &mut Vec<u8>,
    ) -> Result<ClientInput<'a>, ProtocolError> {
        if !self.has_handshake {
            return self.receive_header(bytes, reply);
        }
        let Some((length, rest)) = bytes.split_first_chunk::<4>() else {
            return Ok(ClientInput::Short);
        };
        let (length, longest) = (u32::from_le_bytes(*length) as usize, self.offer.longest);
        if length > longest {
            let reason = format!("a request of {length} bytes is longer than {longest}");
            write_answer(reply, false, reason.as_bytes());
            return Ok(ClientInput::Last);
        }
        let request = rest.get(..length);
        Ok(request.map_or(ClientInput::Short, |request| {
            ClientInput::Request(4 + length, request)
        }))
    }

    fn receive_header<'a>(
        &mut self,
        bytes: &'a [u8],
        reply: &mut Vec<u8>,
    ) -> Result<ClientInput<'a>, ProtocolError> {
        let Some((fields, length)) = read_header(bytes)? else {
            return Ok(ClientInput::Short);
        };
        let is_set = |name| ["1", "true", "True"].contains(&field(&fields, name));
        if let Some(refusal) = self.refusal(&fields) {
            write_header(reply, &[("error", &refusal)]);
            return Ok(ClientInput::Last);
        }
        let Offer { kind, caller, .. } = &*self.offer;
        let (request, response) = (
            format!("{}Request", kind.name),
            format!("{}Response", kind.name),
        );
        let answer = [
            ("callerid", &**caller),
            ("md5sum", &kind.md5),
            ("type", &kind.name),
            ("request_type", &request),
            ("response_type", &response),
        ];
        write_header(reply, &answer);
        self.has_handshake = true;
        self.is_persistent = is_set("persistent");
        match is_set("probe") {
            true => Ok(ClientInput::Last),
            false => Ok(ClientInput::Header(length)),
        }
    }

    /// Returns the reason for which it cannot be served.
    fn refusal(&self, fields: &[(&str, &str)]) -> Option<String> {
        let Offer { service, kind, .. } = &*self.offer;
        if field(fields, "service") != service {
            return Some(format!("{service} is served here, and no other service"));
        }
        let md5 = field(fields, "md5sum");
        let fits = md5 == "*" || kind.md5 == "*" || md5 == kind.md5;
        let md5_here = &kind.md5;
        (!fits).then(|| format!("the service type has the md5sum {md5_here} here"))
    }
}

/// Adds an answer, or a failure and its reason.
pub(super) fn write_answer(reply: &mut Vec<u8>, is_success: bool, bytes: &[u8]) {
    reply.push(u8::from(is_success));
    reply.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    reply.extend_from_slice(bytes);
}

/// Returns whether the service succeeded, and the length of what follows.
pub(super) fn read_answer_head(head: [u8; ANSWER_HEAD]) -> (bool, usize) {
    let [result, length @ ..] = head;
    (result != 0, u32::from_le_bytes(length) as usize)
}

/// The length of the header that begins so.
pub(super) fn header_length(length: [u8; 4]) -> Result<usize, ProtocolError> {
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_HEADER {
        return Err(ProtocolError);
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protocol() -> ClientSession {
        ClientSession::new(Arc::new(Offer {
            service: "/add".to_owned(),
            kind: ServiceType::new("a/Add", "abc"),
            caller: "/us".into(),
            longest: 10,
        }))
    }

    fn greeting(fields: &[(&str, &str)]) -> Vec<u8> {
        let mut buffer = Vec::new();
        write_header(&mut buffer, fields);
        buffer
    }

    #[test]
    fn a_client_is_answered_with_the_type_and_its_requests_are_read() {
        let (mut protocol, mut reply) = (protocol(), Vec::new());
        let buffer = greeting(&[("service", "/add"), ("md5sum", "abc"), ("persistent", "1")]);
        assert_eq!(
            protocol.receive(&buffer[..9], &mut reply),
            Ok(ClientInput::Short)
        );
        let said = protocol.receive(&buffer, &mut reply);
        assert_eq!(said, Ok(ClientInput::Header(buffer.len())));
        assert!(protocol.is_persistent() && protocol.has_handshake());
        let (fields, _) = read_header(&reply).unwrap().unwrap();
        assert_eq!(field(&fields, "type"), "a/Add");
        assert_eq!(field(&fields, "response_type"), "a/AddResponse");
        let request = [2, 0, 0, 0, 7, 8, 9];
        for cut in 0..6 {
            assert_eq!(
                protocol.receive(&request[..cut], &mut reply),
                Ok(ClientInput::Short)
            );
        }
        let said = protocol.receive(&request, &mut reply);
        assert_eq!(said, Ok(ClientInput::Request(6, &[7, 8])));
    }

    #[test]
    fn another_service_or_type_is_refused_with_the_reason() {
        let other = [("service", "/mul"), ("md5sum", "abc")];
        let wrong = [("service", "/add"), ("md5sum", "xyz")];
        for (fields, reason) in [(other, "no other service"), (wrong, "md5sum abc here")] {
            let (mut protocol, mut reply) = (protocol(), Vec::new());
            let buffer = greeting(&fields);
            assert_eq!(protocol.receive(&buffer, &mut reply), Ok(ClientInput::Last));
            let (fields, _) = read_header(&reply).unwrap().unwrap();
            assert!(field(&fields, "error").contains(reason), "{fields:?}");
        }
    }

    #[test]
    fn a_probe_gets_the_type_and_needs_no_request() {
        let (mut protocol, mut reply) = (protocol(), Vec::new());
        let buffer = greeting(&[("service", "/add"), ("md5sum", "*"), ("probe", "1")]);
        assert_eq!(protocol.receive(&buffer, &mut reply), Ok(ClientInput::Last));
        let (fields, _) = read_header(&reply).unwrap().unwrap();
        assert_eq!(field(&fields, "md5sum"), "abc");
    }

    #[test]
    fn a_request_without_end_is_refused_by_its_length() {
        let (mut protocol, mut reply) = (protocol(), Vec::new());
        let buffer = greeting(&[("service", "/add"), ("md5sum", "*")]);
        protocol.receive(&buffer, &mut reply).unwrap();
        reply.clear();
        assert_eq!(
            protocol.receive(&[255; 4], &mut reply),
            Ok(ClientInput::Last)
        );
        let (is_success, length) = read_answer_head(*reply.first_chunk().unwrap());
        assert!(!is_success && length == reply.len() - ANSWER_HEAD);
    }
}

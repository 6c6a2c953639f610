//! The part of XML-RPC that a ROS master and its nodes use. Sans-IO.

use std::fmt::Write as _;

/// The maximum depth of lists within lists.
const MAX_DEPTH: usize = 16;

/// A value of XML-RPC: a parameter of a call, or its result.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::provider) enum XmlRpcValue {
    Int(i32),
    Text(String),
    List(Vec<XmlRpcValue>),
    /// A type that this node never uses.
    Other,
}

impl XmlRpcValue {
    pub(in crate::provider) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    pub(in crate::provider) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(in crate::provider) fn as_int(&self) -> Option<i32> {
        match self {
            Self::Int(number) => Some(*number),
            _ => None,
        }
    }

    pub(in crate::provider) fn as_list(&self) -> Option<&[XmlRpcValue]> {
        match self {
            Self::List(values) => Some(values),
            _ => None,
        }
    }

    fn write(&self, out: &mut String) {
        out.push_str("<value>");
        match self {
            Self::Int(number) => {
                // Writing to a string cannot fail.
                let _ = write!(out, "<i4>{number}</i4>");
            }
            Self::Text(text) => {
                let _ = write!(out, "<string>{}</string>", escaped(text));
            }
            Self::List(values) => {
                out.push_str("<array><data>");
                values.iter().for_each(|value| value.write(out));
                out.push_str("</data></array>");
            }
            Self::Other => {}
        }
        out.push_str("</value>");
    }
}

/// A call of a method.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::provider) struct Call {
    pub(in crate::provider) method: String,
    pub(in crate::provider) arguments: Vec<XmlRpcValue>,
}

impl Call {
    pub(in crate::provider) fn to_xml(&self) -> String {
        let mut out = String::from("<?xml version=\"1.0\"?><methodCall><methodName>");
        out.push_str(&escaped(&self.method));
        out.push_str("</methodName><params>");
        for argument in &self.arguments {
            out.push_str("<param>");
            argument.write(&mut out);
            out.push_str("</param>");
        }
        out.push_str("</params></methodCall>");
        out
    }

    /// Reads a call; `None` if the text is not one.
    pub(in crate::provider) fn parse(xml: &str) -> Option<Self> {
        let mut reader = XmlReader(xml);
        reader.skip_to("<methodName>")?;
        let method = unescaped(reader.until("</methodName>")?.trim());
        let mut arguments = Vec::new();
        while reader.skip_to("<param>").is_some() {
            arguments.push(reader.value(0)?);
        }
        Some(Self { method, arguments })
    }
}

/// Returns the response of a method.
pub(in crate::provider) fn answer_to_xml(value: &XmlRpcValue) -> String {
    let mut out = String::from("<?xml version=\"1.0\"?><methodResponse><params><param>");
    value.write(&mut out);
    out.push_str("</param></params></methodResponse>");
    out
}

/// Reads an answer; `None` if the text is not one, or a fault.
pub(in crate::provider) fn parse_answer(xml: &str) -> Option<XmlRpcValue> {
    let mut reader = XmlReader(xml);
    reader.skip_to("<methodResponse>")?;
    reader.skip_to("<param>")?;
    reader.value(0)
}

/// Parses XML from the front of the rest of a text.
struct XmlReader<'a>(&'a str);

impl<'a> XmlReader<'a> {
    fn skip_to(&mut self, tag: &str) -> Option<()> {
        self.until(tag).map(|_| ())
    }

    /// Returns the text before a tag, and moves behind the tag.
    fn until(&mut self, tag: &str) -> Option<&'a str> {
        let (before, after) = self.0.split_once(tag)?;
        self.0 = after;
        Some(before)
    }

    /// Moves behind a tag that comes next; returns whether it does.
    fn take(&mut self, tag: &str) -> bool {
        let Some(rest) = self.0.trim_start().strip_prefix(tag) else {
            return false;
        };
        self.0 = rest;
        true
    }

    fn value(&mut self, depth: usize) -> Option<XmlRpcValue> {
        if depth > MAX_DEPTH {
            return None;
        }
        if self.take("<value/>") {
            return Some(XmlRpcValue::text(""));
        }
        if !self.take("<value>") {
            return None;
        }
        let value = self.typed(depth)?;
        self.take("</value>").then_some(value)
    }

    fn typed(&mut self, depth: usize) -> Option<XmlRpcValue> {
        for (open, close) in [
            ("<i4>", "</i4>"),
            ("<int>", "</int>"),
            ("<boolean>", "</boolean>"),
        ] {
            if self.take(open) {
                let number = self.until(close)?.trim().parse().ok()?;
                return Some(XmlRpcValue::Int(number));
            }
        }
        if self.take("<string/>") {
            return Some(XmlRpcValue::text(""));
        }
        if self.take("<string>") {
            return Some(XmlRpcValue::Text(unescaped(self.until("</string>")?)));
        }
        if self.take("<array>") {
            return self.list(depth);
        }
        for (open, close) in [("<double>", "</double>"), ("<struct>", "</struct>")] {
            if self.take(open) {
                self.until(close)?;
                return Some(XmlRpcValue::Other);
            }
        }
        // Without a type it is text.
        let end = self.0.find("</value>")?;
        let (text, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(XmlRpcValue::Text(unescaped(text)))
    }

    fn list(&mut self, depth: usize) -> Option<XmlRpcValue> {
        let mut values = Vec::new();
        if !self.take("<data/>") {
            if !self.take("<data>") {
                return None;
            }
            while !self.take("</data>") {
                values.push(self.value(depth + 1)?);
            }
        }
        self.take("</array>").then_some(XmlRpcValue::List(values))
    }
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

fn unescaped(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">");
    let text = text.replace("&quot;", "\"").replace("&apos;", "'");
    text.replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value() -> impl Strategy<Value = XmlRpcValue> {
        let leaf = prop_oneof![
            any::<i32>().prop_map(XmlRpcValue::Int),
            "[ -~]{0,20}".prop_map(XmlRpcValue::Text),
        ];
        leaf.prop_recursive(4, 20, 4, |inner| {
            prop::collection::vec(inner, 0..4).prop_map(XmlRpcValue::List)
        })
    }

    proptest! {
        #[test]
        fn a_call_and_an_answer_come_back(
            arguments in prop::collection::vec(value(), 0..4),
            method in "[a-zA-Z]{1,20}",
        ) {
            for argument in &arguments {
                let answer = parse_answer(&answer_to_xml(argument));
                prop_assert_eq!(answer.as_ref(), Some(argument));
            }
            let call = Call { method, arguments };
            prop_assert_eq!(Call::parse(&call.to_xml()), Some(call));
        }

        #[test]
        fn no_text_is_read_beyond_its_end(text in "(<value>|</value>|<array>|<data>|<i4>|1|[ -~]){0,40}") {
            let _ = Call::parse(&text);
            let _ = parse_answer(&format!("<methodResponse><param>{text}"));
        }
    }

    #[test]
    fn python_s_answer_is_read() {
        let xml = "<?xml version='1.0'?>\n<methodResponse>\n<params>\n<param>\n<value><array><data>\n\
            <value><int>1</int></value>\n<value><string>ok &amp; well</string></value>\n\
            <value><array><data>\n</data></array></value>\n</data></array></value>\n</param>\n\
            </params>\n</methodResponse>\n";
        let expected = [
            XmlRpcValue::Int(1),
            XmlRpcValue::text("ok & well"),
            XmlRpcValue::List(vec![]),
        ];
        assert_eq!(
            parse_answer(xml),
            Some(XmlRpcValue::List(expected.to_vec()))
        );
    }

    #[test]
    fn lists_without_end_are_refused() {
        let deep = "<value><array><data>".repeat(100_000);
        assert_eq!(
            parse_answer(&format!("<methodResponse><param>{deep}")),
            None
        );
    }
}

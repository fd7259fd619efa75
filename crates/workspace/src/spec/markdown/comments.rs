//! Separates HTML in Markdown into visible text and comments.

/// Returns the text without tags, and the trimmed comments. An unclosed tag or comment extends to the end.
pub(super) fn apart(html: &str) -> (String, Vec<String>) {
    let (mut text, mut comments) = (String::new(), Vec::new());
    let mut rest = html;
    while let Some((before, from)) = rest.split_once('<') {
        text.push_str(before);
        rest = if let Some(comment) = from.strip_prefix("!--") {
            let (comment, after) = comment.split_once("-->").unwrap_or((comment, ""));
            comments.push(comment.trim().to_owned());
            after
        } else {
            from.split_once('>').map_or("", |(_, after)| after)
        };
    }
    text.push_str(rest);
    (text, comments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_tags_are_not_text() {
        let (text, comments) = apart("a <b>c</b><!-- one --> d\n<!--two\n3--> <!-- open");
        assert_eq!(text, "a c d\n ");
        assert_eq!(comments, ["one", "two\n3", "open"]);
        assert_eq!(apart("<unclosed"), (String::new(), Vec::new()));
        assert_eq!(apart("no tag"), ("no tag".to_owned(), Vec::new()));
    }
}

//! Checks how many rows a caller wants in an answer.

use mcpkg_base::error::{Code, Error, Result};

/// Returns how many rows to answer with: `asked`, or `usual` if the caller did not ask for a number.
///
/// # Errors
/// `E_INVALID_ARGUMENT` if `asked` is 0 or more than `most`.
pub fn limit(asked: Option<u32>, usual: usize, most: usize) -> Result<usize> {
    let Some(asked) = asked else { return Ok(usual) };
    match usize::try_from(asked).unwrap_or(usize::MAX) {
        limit if (1..=most).contains(&limit) => Ok(limit),
        _ if most == usize::MAX => Err(Error::new(Code::InvalidArgument, "limit must be at least 1")),
        _ => Err(Error::new(Code::InvalidArgument, format!("limit {asked} is not between 1 and {most}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::limit;

    #[test]
    fn a_limit_is_between_one_and_the_maximum() {
        assert_eq!((limit(None, 10, 50).ok(), limit(Some(50), 10, 50).ok()), (Some(10), Some(50)));
        assert_eq!(limit(Some(0), 10, 50).unwrap_err().message(), "limit 0 is not between 1 and 50");
        assert_eq!(limit(Some(51), 10, 50).unwrap_err().message(), "limit 51 is not between 1 and 50");
        assert_eq!(limit(Some(0), 10, usize::MAX).unwrap_err().message(), "limit must be at least 1");
    }
}

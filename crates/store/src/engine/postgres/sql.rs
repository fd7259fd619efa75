//! The texts of statements: PostgreSQL's own, and the translation of the portable ones.

/// Makes a statement that only PostgreSQL accepts, for files in this folder.
macro_rules! postgres_sql {
    ($($text:expr),+ $(,)?) => {
        const { $crate::engine::Sql::new(concat!($($text),+)) }
    };
}
pub(super) use postgres_sql;

/// Translates a portable statement for PostgreSQL: `?N` becomes `$N`, and a hint to SQLite's planner is left out. Nothing else
/// differs.
pub(super) fn translated(sql: &str) -> String {
    let mut translated = String::with_capacity(sql.len());
    let mut quoted = false;
    for c in sql.chars() {
        quoted ^= c == '\'';
        translated.push(if c == '?' && !quoted { '$' } else { c });
    }
    translated.replace(" INDEXED BY prompt_skill", "")
}

/// The maximum number of a query's rows that are in memory at once.
pub(super) const BATCH: usize = 1_000;

/// Limits a query to one row more than fits into a batch. The extra row shows that not all rows fit.
pub(super) fn cut(query: &str) -> String {
    format!("SELECT * FROM ({query}) AS found LIMIT {}", BATCH + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_translated_and_texts_are_unchanged() {
        assert_eq!(translated("SELECT '?1', ?1 + ?12"), "SELECT '?1', $1 + $12");
        assert_eq!(translated("FROM prompt INDEXED BY prompt_skill WHERE a = ?2"), "FROM prompt WHERE a = $2");
    }
}

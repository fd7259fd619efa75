//! Lists the prefixes of tokens of well-known services.

/// The prefix of mcpkg's access keys. A key consists of this prefix, an id of 12 hex digits, `_`, and the secret.
pub const ACCESS_KEY: &str = "mcpkg_";

/// The number of digits in the id of an access key.
pub const ACCESS_KEY_ID: usize = 12;

/// Prefixes that only tokens have.
pub const CLEAR: &[&str] = &[
    "AGE-SECRET-KEY-",
    "AIza",
    "ATATT3x",
    "ATBB",
    "ATCTT3x",
    "CCIPAT_",
    "CFPAT-",
    "GOCSPX-",
    "GR1348941",
    "HRKU-",
    "NRAK-",
    "PMAK-",
    "bkua_",
    "dckr_oat_",
    "dckr_pat_",
    "doo_v1_",
    "dop_v1_",
    "dor_v1_",
    "dp.pt.",
    "dp.st.",
    "eyJ",
    "figd_",
    "fo1_",
    "ghp_",
    "gho_",
    "ghr_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glagent-",
    "glc_",
    "glcbt-",
    "gldt-",
    "glft-",
    "glimt-",
    "gloas-",
    "glpat-",
    "glptt-",
    "glrt-",
    "glsa_",
    "glsoat-",
    "hvb.",
    "hvs.",
    "lin_api_",
    "nfp_",
    "pscale_pw_",
    "pscale_tkn_",
    "pypi-AgE",
    "rk_live_",
    "rk_test_",
    "rubygems_",
    "shpat_",
    "shpca_",
    "shppa_",
    "shpss_",
    "sk_live_",
    "sk_test_",
    "sntrys_",
    "sntryu_",
    "sq0atp-",
    "sq0csp-",
    "whsec_",
    "xapp-",
    "xoxa-",
    "xoxb-",
    "xoxc-",
    "xoxd-",
    "xoxe-",
    "xoxe.",
    "xoxp-",
    "xoxr-",
    "xoxs-",
    "ya29.",
];

/// Prefixes that ordinary words may have too. Such a word counts as a token only if the rest of it is long and random.
pub const VAGUE: &[&str] = &[
    "AKIA", "ASIA", "SG.", "dapi", "gsk_", "hf_", "npm_", "ntn_", "oy2", "pat-", "pk_live_", "pplx-", "r8_", "sbp_",
    "secret_", "sk-", "tvly-", "xai-",
];

/// Marks the bytes that start a prefix in [`CLEAR`] or [`VAGUE`].
pub const FIRST: [bool; 256] = {
    let mut first = [false; 256];
    let mut n = 0;
    while n < CLEAR.len() {
        first[CLEAR[n].as_bytes()[0] as usize] = true;
        n += 1;
    }
    n = 0;
    while n < VAGUE.len() {
        first[VAGUE[n].as_bytes()[0] as usize] = true;
        n += 1;
    }
    first
};

/// Returns the part of a word after a token's prefix. Does not check whether that part looks like a secret.
pub fn rest_of(word: &str) -> Option<&str> {
    CLEAR.iter().chain(VAGUE).find_map(|prefix| word.strip_prefix(prefix))
}

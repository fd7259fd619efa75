//! Tests the real binary over stdio.

mod bad_input;
mod changes;
mod contract_001;
mod eras;
mod facts;
mod floods;
mod order;
mod skills;
mod slash_arguments;
mod template_limits;
mod templates;
mod timeouts;
mod tool_search;

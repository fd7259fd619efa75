//! Expressions of the form `${{ ... }}`, and templates that contain them.
//!
//! ```text
//! condition := or ; or := and ('||' and)* ; and := not ('&&' not)* ; not := '!' not | compare
//! compare   := value (('=='|'!=') value)? | value '.includes(' value ')'
//! value     := '(' condition ')' | path | number | "text" | 'text' | true | false | null | JSON list or map
//! path      := inputs.NAME seg* | steps.ID ('.output')? seg* | env.NAME | secrets.NAME
//! seg       := '.'key | '.'N | '['N']'
//! ```

mod ast;
mod cursor;
mod evaluate;
mod fault;
mod parse;
mod template;

pub use ast::{Expression, Node, Path, Root, Segment};
pub use evaluate::{Outcome, Scope, condition, evaluate, is_true, value_at};
pub use fault::{Fault, FaultKind};
pub use parse::parse;
pub use template::{Part, Template};

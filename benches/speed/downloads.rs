//! Measures downloads of tool archives from the registry of a server. The reference is an axum handler that sends the
//! same bytes.

use std::process::Stdio;
use std::time::Duration;

use mcpkg_base::clock::Clock;

use crate::Effort;
use crate::data::Data;
use crate::peer::{mcpkg, reference};
use crate::table::{Bar, Row, Table, Value, median};
use crate::web::Web;

const CPU: &str = "download of 10 MiB from the registry: CPU";

/// The size in bytes of the only file in the archive. Its content cannot be compressed.
const SIZE: usize = 10 << 20;

/// Runs this file's measurement, and adds a row to the table.
pub fn measure(data: &Data, effort: &Effort, table: &mut Table) {
    if !table.wants(CPU) {
        return;
    }
    let database = data.empty("registry.db");
    publish(data, &database);
    let ours = Web::serve_with(&database, &["--registry"]);
    let path = "/registry/tools/bench/large/versions/1.0.0/download";
    let ask = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").into_bytes();
    let requests = [ask(path), ask("/download")];
    let mut connection = ours.connect();
    let answer = connection.ask(&requests[0]).expect("an answer");
    assert!(answer.status == 200 && answer.body.len() >= SIZE, "the download failed: {}", answer.head);
    let file = data.path("download");
    std::fs::write(&file, answer.body).expect("the archive can be kept");
    let handler = Web::start(reference(&["--handler", file.to_str().expect("the scratch folder has a readable name")]));

    let webs = [&ours, &handler];
    let samples = effort.samples(40);
    let mut connections = webs.map(Web::connect);
    let rounds: Vec<[Duration; 2]> = (0..=effort.rounds)
        .map(|_| {
            std::array::from_fn(|which| {
                let before = webs[which].cpu();
                for _ in 0..samples {
                    let answer = connections[which].ask(&requests[which]).expect("an answer");
                    assert!(answer.status == 200 && answer.body.len() >= SIZE);
                }
                (webs[which].cpu() - before) / u32::try_from(samples).expect("samples are few")
            })
        })
        .collect();
    // The first round only warms up.
    let of = |which: usize| Value::Time(median(&mut rounds[1..].iter().map(|round| round[which]).collect::<Vec<_>>()));
    table.push(Row { what: CPU.to_owned(), ours: of(0), off: None, reference: Some(of(1)), bar: Bar::Times(3.5) });
}

/// Publishes a tool with an archive of 10 MiB in the database.
fn publish(data: &Data, database: &std::path::Path) {
    let folder = data.path("large-tool");
    std::fs::create_dir_all(&folder).expect("a folder");
    let manifest = "---\nname: bench/large\nversion: 1.0.0\ndescription: Is large\n---\nLarge.\n";
    std::fs::write(folder.join("SKILL.md"), manifest).expect("a manifest");
    let clock = Clock::system();
    let noise = std::iter::repeat_with(|| clock.secret().expect("random bytes")).flatten().take(SIZE);
    std::fs::write(folder.join("noise.bin"), noise.collect::<Vec<u8>>()).expect("a file");
    let published = mcpkg(database).args(["tool", "publish"]).arg(&folder).stdout(Stdio::null()).status();
    assert!(published.expect("mcpkg starts").success(), "the tool is published");
}

//! Follows the tasks that a `subscriptions/listen` stream reports: those in `notifications.taskIds` of its request.

use std::collections::VecDeque;
use std::sync::Arc;

use rmcp::model::{DetailedTask, TaskStatusNotification, TaskStatusNotificationParams};
use rmcp::model::{NotificationMetaObject, RequestId, ServerNotification};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::broadcast::{self, error::RecvError};

use super::Tasks;
use super::change::Change;
use crate::mcp::asker::Asker;

/// The maximum number of tasks that one stream reports.
const MAX_FOLLOWED: usize = 256;

/// The task ids in the parameters of subscriptions/listen. They travel with the request separately, because rmcp's
/// filter has no field for them.
#[derive(Clone, Debug, Default)]
pub(in crate::mcp) struct TaskIds(Vec<String>);

impl TaskIds {
    pub(in crate::mcp) fn of(parameters: Option<&RawValue>) -> Self {
        #[derive(Deserialize)]
        struct Parameters {
            notifications: Notifications,
        }
        #[derive(Deserialize)]
        struct Notifications {
            #[serde(rename = "taskIds", default)]
            task_ids: Vec<String>,
        }
        let read = parameters.and_then(|raw| serde_json::from_str::<Parameters>(raw.get()).ok());
        let mut ids = read.map_or_else(Vec::new, |read| read.notifications.task_ids);
        ids.truncate(MAX_FOLLOWED);
        Self(ids)
    }
}

/// The tasks that one stream reports.
pub(in crate::mcp) struct Followed {
    asker: Asker,
    ids: Vec<String>,
    /// The tasks' states when the stream began; each is sent once.
    first: VecDeque<Arc<DetailedTask>>,
    changes: broadcast::Receiver<Change>,
}

impl Tasks {
    /// Follows the given tasks, except those of other requesters. Queries the database.
    pub(in crate::mcp) fn follow(&self, asker: Asker, ids: TaskIds) -> Followed {
        // Subscribe before looking up the tasks, so that no change is missed.
        let changes = self.changes.subscribe();
        let mut followed = Followed { asker, ids: Vec::new(), first: VecDeque::new(), changes };
        for id in ids.0 {
            if let Ok(task) = self.get(&followed.asker, &id) {
                followed.ids.push(id);
                followed.first.push_back(Arc::new(task));
            }
        }
        followed
    }
}

impl Followed {
    pub(in crate::mcp) fn ids(&self) -> &[String] {
        &self.ids
    }

    /// Returns the next state of a followed task: first the state when the stream began, then each change.
    pub(in crate::mcp) async fn next(&mut self) -> Arc<DetailedTask> {
        if let Some(task) = self.first.pop_front() {
            return task;
        }
        loop {
            match self.changes.recv().await {
                Ok(Change { asker, task }) if asker == self.asker && self.ids.contains(&task.task.task_id) => {
                    return task;
                }
                // A client that is too far behind has to poll.
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => std::future::pending().await,
            }
        }
    }
}

/// Returns notifications/tasks for the stream that the request `id` opened.
pub(in crate::mcp) fn notification(task: &DetailedTask, id: &RequestId) -> ServerNotification {
    let mut meta = NotificationMetaObject::default();
    meta.set_subscription_id(id.clone());
    let mut parameters = TaskStatusNotificationParams::new(task.clone());
    parameters.meta = Some(meta);
    ServerNotification::TaskStatusNotification(TaskStatusNotification::new(parameters))
}

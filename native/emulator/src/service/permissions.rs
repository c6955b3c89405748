//! Who may do what: bearer tokens with roles, as IAM would have it for the service.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tonic::Status;

use super::Method;

/// A predefined role of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// `roles/pubsub.publisher`
    Publisher,
    /// `roles/pubsub.subscriber`
    Subscriber,
    /// `roles/pubsub.viewer`
    Viewer,
    /// `roles/pubsub.editor`
    Editor,
}

impl Role {
    /// The role of this name.
    pub fn of_name(name: &str) -> Option<Role> {
        Some(match name {
            "roles/pubsub.publisher" => Role::Publisher,
            "roles/pubsub.subscriber" => Role::Subscriber,
            "roles/pubsub.viewer" => Role::Viewer,
            "roles/pubsub.editor" => Role::Editor,
            _ => return None,
        })
    }

    /// From the service's page on access control.
    fn holds(self, permission: &str) -> bool {
        let action = permission.rsplit('.').next().unwrap_or_default();
        match self {
            Role::Publisher => permission == "pubsub.topics.publish",
            Role::Subscriber => matches!(
                permission,
                "pubsub.subscriptions.consume"
                    | "pubsub.snapshots.seek"
                    | "pubsub.topics.attachSubscription"
            ),
            Role::Viewer => matches!(action, "get" | "list"),
            Role::Editor => true,
        }
    }
}

/// What each token may do. Empty: everybody may do everything.
#[derive(Default)]
pub struct Permissions {
    roles: Mutex<HashMap<String, Vec<Role>>>,
}

impl Permissions {
    /// From here on only tokens with roles are let in; this one has these.
    pub fn grant(&self, token: &str, roles: Vec<Role>) {
        self.roles().insert(token.to_owned(), roles);
    }

    /// Lets everybody do everything again.
    pub fn clear(&self) {
        self.roles().clear();
    }

    pub(super) fn check(&self, token: Option<&str>, method: Method) -> Result<(), Status> {
        let roles = self.roles();
        if roles.is_empty() {
            return Ok(());
        }
        let Some(token) = token else {
            return Err(Status::unauthenticated(
                "The request has no bearer token in its authorization header.",
            ));
        };
        let roles = roles.get(token).map_or(&[][..], Vec::as_slice);
        let held = |permission: &&str| roles.iter().any(|role| role.holds(permission));
        if needed(method).iter().all(held) {
            return Ok(());
        }
        // The service's own words, which name no permission.
        Err(Status::permission_denied(
            "User not authorized to perform this action.",
        ))
    }

    fn roles(&self) -> MutexGuard<'_, HashMap<String, Vec<Role>>> {
        self.roles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Permissions({} tokens)", self.roles().len())
    }
}

/// From the service's page on access control.
fn needed(method: Method) -> &'static [&'static str] {
    match method {
        Method::CreateTopic => &["pubsub.topics.create"],
        Method::UpdateTopic => &["pubsub.topics.update"],
        Method::Publish => &["pubsub.topics.publish"],
        Method::GetTopic | Method::ListTopicSubscriptions | Method::ListTopicSnapshots => {
            &["pubsub.topics.get"]
        }
        Method::ListTopics => &["pubsub.topics.list"],
        Method::DeleteTopic => &["pubsub.topics.delete"],
        Method::DetachSubscription => &["pubsub.topics.detachSubscription"],
        Method::CreateSubscription => &[
            "pubsub.subscriptions.create",
            "pubsub.topics.attachSubscription",
        ],
        Method::GetSubscription => &["pubsub.subscriptions.get"],
        Method::UpdateSubscription | Method::ModifyPushConfig => &["pubsub.subscriptions.update"],
        Method::ListSubscriptions => &["pubsub.subscriptions.list"],
        Method::DeleteSubscription => &["pubsub.subscriptions.delete"],
        Method::ModifyAckDeadline
        | Method::Acknowledge
        | Method::Pull
        | Method::StreamingPull
        | Method::Seek => &["pubsub.subscriptions.consume"],
        Method::GetSnapshot => &["pubsub.snapshots.get"],
        Method::ListSnapshots => &["pubsub.snapshots.list"],
        Method::CreateSnapshot => &["pubsub.snapshots.create", "pubsub.subscriptions.consume"],
        Method::UpdateSnapshot => &["pubsub.snapshots.update"],
        Method::DeleteSnapshot => &["pubsub.snapshots.delete"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tonic::Code;

    #[test]
    fn roles_allow_what_they_hold() {
        let permissions = Permissions::default();
        assert!(permissions.check(None, Method::CreateTopic).is_ok());
        permissions.grant("p", vec![Role::Publisher]);
        permissions.grant("vs", vec![Role::Viewer, Role::Subscriber]);
        permissions.grant("e", vec![Role::Editor]);
        let may = |token| {
            let methods = Method::ALL.iter().copied();
            methods
                .filter(|method| permissions.check(Some(token), *method).is_ok())
                .map(Method::name)
                .collect::<Vec<_>>()
        };
        assert_eq!(may("p"), ["Publish"]);
        assert_eq!(
            may("vs"),
            [
                "GetTopic",
                "ListTopics",
                "ListTopicSubscriptions",
                "ListTopicSnapshots",
                "GetSubscription",
                "ListSubscriptions",
                "ModifyAckDeadline",
                "Acknowledge",
                "Pull",
                "StreamingPull",
                "GetSnapshot",
                "ListSnapshots",
                "Seek"
            ]
        );
        assert_eq!(may("e").len(), Method::ALL.len());
        assert!(may("other").is_empty());
        let code = |token| permissions.check(token, Method::Pull).unwrap_err().code();
        assert_eq!(code(None), Code::Unauthenticated);
        assert_eq!(code(Some("p")), Code::PermissionDenied);
        permissions.clear();
        assert!(permissions.check(None, Method::CreateTopic).is_ok());
    }
}

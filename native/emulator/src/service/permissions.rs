//! Who may do what: bearer tokens with roles, as IAM would have it for the service.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tonic::Status;

use super::Method;

/// A role: a predefined one of the service, or one of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// `roles/pubsub.publisher`
    Publisher,
    /// `roles/pubsub.subscriber`
    Subscriber,
    /// `roles/pubsub.viewer`
    Viewer,
    /// `roles/pubsub.editor`
    Editor,
    /// Has these permissions and no others.
    Custom(Vec<String>),
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

    /// A role of these permissions, all of which must be known here.
    pub fn custom(permissions: Vec<String>) -> Result<Role, String> {
        let known = |permission: &str| {
            permission == SEEK_TO_SNAPSHOT
                || Method::ALL
                    .iter()
                    .any(|method| needed(*method).contains(&permission))
        };
        match permissions.iter().find(|permission| !known(permission)) {
            Some(unknown) => Err(format!("unknown permission '{unknown}'")),
            None => Ok(Role::Custom(permissions)),
        }
    }

    /// From the service's page on access control.
    fn holds(&self, permission: &str) -> bool {
        let action = permission.rsplit('.').next().unwrap_or_default();
        match self {
            Role::Publisher => permission == "pubsub.topics.publish",
            Role::Subscriber => matches!(
                permission,
                "pubsub.subscriptions.consume"
                    | SEEK_TO_SNAPSHOT
                    | "pubsub.topics.attachSubscription"
            ),
            Role::Viewer => matches!(action, "get" | "list"),
            Role::Editor => true,
            Role::Custom(permissions) => permissions.iter().any(|held| held == permission),
        }
    }
}

/// What each token may do. Before the first grant everybody may do everything.
#[derive(Default)]
pub struct Permissions {
    roles: Mutex<Option<HashMap<String, Vec<Role>>>>,
}

impl Permissions {
    /// From here on only tokens that were granted something are let in; this one has these roles.
    pub fn grant(&self, token: &str, roles: Vec<Role>) {
        self.roles()
            .get_or_insert_default()
            .insert(token.to_owned(), roles);
    }

    /// This token is not let in any more, as when it has ended. Answers whether it was.
    pub fn revoke(&self, token: &str) -> bool {
        let mut roles = self.roles();
        roles.as_mut().and_then(|r| r.remove(token)).is_some()
    }

    /// Lets everybody do everything again.
    pub fn clear(&self) {
        *self.roles() = None;
    }

    pub(super) fn check(&self, token: Option<&str>, method: Method) -> Result<(), Status> {
        self.check_all(token, needed(method))
    }

    /// Seeking to a snapshot needs more than seeking to a time.
    pub(super) fn check_seek_to_snapshot(&self, token: Option<&str>) -> Result<(), Status> {
        self.check_all(token, &[SEEK_TO_SNAPSHOT])
    }

    fn check_all(&self, token: Option<&str>, needed: &[&str]) -> Result<(), Status> {
        let roles = self.roles();
        let Some(roles) = roles.as_ref() else {
            return Ok(());
        };
        let Some(token) = token else {
            return Err(Status::unauthenticated(
                "The request has no bearer token in its authorization header.",
            ));
        };
        let Some(roles) = roles.get(token) else {
            return Err(Status::unauthenticated(
                "The request's bearer token is not one that this server knows.",
            ));
        };
        let held = |permission: &&str| roles.iter().any(|role| role.holds(permission));
        if needed.iter().all(held) {
            return Ok(());
        }
        // The service's own words, which name no permission.
        Err(Status::permission_denied(
            "User not authorized to perform this action.",
        ))
    }

    fn roles(&self) -> MutexGuard<'_, Option<HashMap<String, Vec<Role>>>> {
        self.roles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tokens = self.roles().as_ref().map_or(0, HashMap::len);
        write!(f, "Permissions({tokens} tokens)")
    }
}

/// What a Seek to a snapshot needs besides what each Seek does.
const SEEK_TO_SNAPSHOT: &str = "pubsub.snapshots.seek";

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
        let code = |token| permissions.check(token, Method::Pull).unwrap_err().code();
        assert_eq!(code(None), Code::Unauthenticated);
        assert_eq!(code(Some("other")), Code::Unauthenticated);
        assert_eq!(code(Some("p")), Code::PermissionDenied);
        permissions.grant("nothing", Vec::new());
        assert!(may("nothing").is_empty());
        assert_eq!(code(Some("nothing")), Code::PermissionDenied);
        for token in ["p", "vs", "e", "nothing"] {
            assert!(permissions.revoke(token));
        }
        assert!(!permissions.revoke("p"));
        assert_eq!(code(Some("e")), Code::Unauthenticated);
        permissions.clear();
        assert!(permissions.check(None, Method::CreateTopic).is_ok());
    }

    #[test]
    fn a_role_of_its_own_holds_what_is_known() {
        let role = |permission: &str| Role::custom(vec![permission.to_owned()]);
        let permissions = Permissions::default();
        permissions.grant("c", vec![role("pubsub.subscriptions.consume").unwrap()]);
        assert!(permissions.check(Some("c"), Method::Seek).is_ok());
        let denied = permissions.check_seek_to_snapshot(Some("c")).unwrap_err();
        assert_eq!(denied.code(), Code::PermissionDenied);
        let snapshots = vec![role("pubsub.snapshots.seek").unwrap()];
        permissions.grant("s", snapshots);
        assert!(permissions.check_seek_to_snapshot(Some("s")).is_ok());
        assert_eq!(
            role("pubsub.subscriptions.eat").unwrap_err(),
            "unknown permission 'pubsub.subscriptions.eat'"
        );
    }
}

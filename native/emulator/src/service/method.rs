//! The calls of the API.

use tonic::Status;

macro_rules! methods {
    ($($service:literal { $($name:ident),+ $(,)? })+) => {
        /// A call of `google.pubsub.v1`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Method {
            $($(
                #[doc = concat!("`", $service, ".", stringify!($name), "`")]
                $name,
            )+)+
        }

        impl Method {
            /// All calls.
            pub const ALL: &[Method] = &[$($(Method::$name,)+)+];

            /// Its name without the service.
            pub fn name(self) -> &'static str {
                match self {
                    $($(Method::$name => stringify!($name),)+)+
                }
            }

            fn path(self) -> &'static str {
                match self {
                    $($(Method::$name => concat!("/google.pubsub.v1.", $service, "/", stringify!($name)),)+)+
                }
            }
        }
    };
}

methods! {
    "Publisher" {
        CreateTopic, UpdateTopic, Publish, GetTopic, ListTopics, ListTopicSubscriptions, ListTopicSnapshots,
        DeleteTopic, DetachSubscription,
    }
    "Subscriber" {
        CreateSubscription, GetSubscription, UpdateSubscription, ListSubscriptions, DeleteSubscription,
        ModifyAckDeadline, Acknowledge, Pull, StreamingPull, ModifyPushConfig, GetSnapshot, ListSnapshots,
        CreateSnapshot, UpdateSnapshot, DeleteSnapshot, Seek,
    }
}

impl Method {
    /// The call that an HTTP path names.
    pub fn of_path(path: &str) -> Result<Method, Status> {
        if let Some(method) = Self::ALL.iter().find(|m| m.path() == path) {
            return Ok(*method);
        }
        let what = if path.starts_with("/google.pubsub.v1.SchemaService/") {
            "Schemas are"
        } else if path.starts_with("/google.iam.v1.IAMPolicy/") {
            "Access control (google.iam.v1.IAMPolicy) is"
        } else {
            return Err(Status::unimplemented(format!(
                "{path} is not a call of google.pubsub.v1."
            )));
        };
        Err(Status::unimplemented(format!(
            "{what} not part of this emulator."
        )))
    }

    /// The call of this name, without its service.
    pub fn of_name(name: &str) -> Option<Method> {
        Self::ALL.iter().copied().find(|m| m.name() == name)
    }

    pub(super) fn is_publisher(self) -> bool {
        self.path().starts_with("/google.pubsub.v1.Publisher/")
    }
}

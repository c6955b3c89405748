//! The key of a service account that exists in the test alone.
// Each test binary uses a part of it.
#![allow(dead_code)]

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use rsa::RsaPrivateKey;
use rsa::pkcs1::EncodeRsaPublicKey as _;
use rsa::pkcs8::{EncodePrivateKey as _, LineEnding};
use serde_json::{Value, json};

pub const EMAIL: &str = "job@project.iam.gserviceaccount.com";

pub struct TestKey(RsaPrivateKey);

impl TestKey {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self(RsaPrivateKey::new(&mut rand_core::OsRng, 2_048).unwrap())
    }

    /// What Google's console writes into a file.
    pub fn file(&self, token_uri: Option<&str>) -> Value {
        let mut file = json!({
            "type": "service_account",
            "project_id": "project",
            "private_key_id": "key-1",
            "private_key": self.0.to_pkcs8_pem(LineEnding::LF).unwrap().as_str(),
            "client_email": EMAIL,
        });
        if let Some(uri) = token_uri {
            file["token_uri"] = json!(uri);
        }
        file
    }

    /// Panics unless the token is signed with this key.
    pub fn verify(&self, jwt: &str) {
        let (signed, signature) = jwt.rsplit_once('.').unwrap();
        let public = self.0.to_public_key().to_pkcs1_der().unwrap();
        UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public.as_bytes())
            .verify(
                signed.as_bytes(),
                &BASE64_URL_SAFE_NO_PAD.decode(signature).unwrap(),
            )
            .expect("the signature must be the key's");
    }
}

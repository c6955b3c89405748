//! Whom to trust: the system's root certificates, or those compiled in where it has none.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use crate::connect::ConnectionOptions;

/// Whether the system has root certificates.
pub(super) fn has_system_roots() -> bool {
    !rustls_native_certs::load_native_certs().certs.is_empty()
}

/// TLS for token services: they are trusted by the usual roots, and by the private authority of the
/// options, which may stand in the way of all connections.
pub(super) fn client_config(
    options: &ConnectionOptions,
) -> Result<ClientConfig, Box<dyn std::error::Error>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    if let Some(file) = &options.ca_certificate_file {
        let own: Vec<_> = CertificateDer::pem_file_iter(file)?.collect::<Result<_, _>>()?;
        roots.add_parsable_certificates(own);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

//! TLS with a certificate from files.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// Accepts TLS connections with the PEM certificate chain and key in these files, for HTTP/2 only.
pub fn acceptor(certificate: &Path, key: &Path) -> io::Result<TlsAcceptor> {
    let bad = |path: &Path, e: &dyn std::fmt::Display| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{}: {e}", path.display()),
        )
    };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(certificate)
        .map_err(|e| bad(certificate, &e))?
        .collect();
    let chain = chain.map_err(|e| bad(certificate, &e))?;
    if chain.is_empty() {
        return Err(bad(certificate, &"holds no certificate"));
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|e| bad(key, &e))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(|e| bad(key, &e))?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

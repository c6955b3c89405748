//! What is wrong with a server's certificate, in words for whoever runs the job.

use std::error::Error;
use std::io;

use rustls::CertificateError;

/// The reason, when the chain of errors ends in a certificate that was not accepted.
pub(super) fn refused(error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(rustls::Error::InvalidCertificate(why)) = error.downcast_ref() {
        return Some(reason(why));
    }
    // The source of an I/O error is that of what it wraps.
    if let Some(wrapped) = error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
        && let Some(found) = refused(wrapped)
    {
        return Some(found);
    }
    refused(error.source()?)
}

fn reason(why: &CertificateError) -> String {
    match why {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            format!("its certificate has expired ({why})")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            format!("its certificate is not valid yet ({why})")
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("its certificate is for another name ({why})")
        }
        CertificateError::UnknownIssuer => "its certificate is self-signed, or signed by an \
             authority that is not trusted here; trust the authority with caCertificateFile"
            .to_owned(),
        // A certificate of an authority that is used as that of a server.
        other if other.to_string().contains("CaUsedAsEndEntity") => {
            "its certificate is self-signed and marked as that of an authority (CA:TRUE), which no \
             server's may be; make one without that mark"
                .to_owned()
        }
        other => format!("its certificate is not accepted ({other})"),
    }
}

package io.github.flinkpubsub.compat;

import com.google.auth.Credentials;
import com.google.auth.oauth2.GoogleCredentials;

import java.io.IOException;
import java.net.URI;
import java.util.List;
import java.util.Map;

/**
 * Application Default Credentials of the place where they are used. What travels with the job is
 * only that they are wanted.
 */
final class EnvironmentCredentials extends Credentials {

    private static final long serialVersionUID = 1L;

    private transient Credentials found;

    private synchronized Credentials find() throws IOException {
        if (found == null) {
            found = Scopes.added(GoogleCredentials.getApplicationDefault());
        }
        return found;
    }

    @Override
    public String getAuthenticationType() {
        return "OAuth2";
    }

    @Override
    public Map<String, List<String>> getRequestMetadata(URI uri) throws IOException {
        return find().getRequestMetadata(uri);
    }

    @Override
    public boolean hasRequestMetadata() {
        return true;
    }

    @Override
    public boolean hasRequestMetadataOnly() {
        return true;
    }

    @Override
    public void refresh() throws IOException {
        find().refresh();
    }
}

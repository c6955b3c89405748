package io.github.flinkpubsub.compat;

import com.google.auth.Credentials;

import java.net.URI;
import java.util.List;
import java.util.Map;

/** Credentials of a test, which travel with the job. */
class Named extends Credentials {

    private static final long serialVersionUID = 1L;

    private final String name;

    Named(String name) {
        this.name = name;
    }

    @Override
    public String getAuthenticationType() {
        return name;
    }

    @Override
    public Map<String, List<String>> getRequestMetadata(URI uri) {
        return Map.of("authorization", List.of("Bearer " + name));
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
    public void refresh() {}
}

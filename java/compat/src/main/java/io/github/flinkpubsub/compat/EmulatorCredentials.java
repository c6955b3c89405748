package io.github.flinkpubsub.compat;

import com.google.auth.Credentials;

import org.apache.flink.annotation.PublicEvolving;

import java.net.URI;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** No credentials, for an emulator. */
@PublicEvolving
public final class EmulatorCredentials extends Credentials {

    private static final EmulatorCredentials INSTANCE = new EmulatorCredentials();

    private static final long serialVersionUID = 1L;

    private EmulatorCredentials() {}

    /** The one instance. */
    public static EmulatorCredentials getInstance() {
        return INSTANCE;
    }

    private Object readResolve() {
        return INSTANCE;
    }

    @Override
    public String getAuthenticationType() {
        return "none";
    }

    @Override
    public Map<String, List<String>> getRequestMetadata(URI uri) {
        return Collections.emptyMap();
    }

    @Override
    public boolean hasRequestMetadata() {
        return false;
    }

    @Override
    public boolean hasRequestMetadataOnly() {
        return true;
    }

    @Override
    public void refresh() {}
}

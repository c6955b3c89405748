package io.github.flinkpubsub;

import io.github.flinkpubsub.nativebridge.NativeOptions;

import org.apache.flink.annotation.Internal;
import org.apache.flink.util.InstantiationUtil;

import java.io.IOException;
import java.io.Serializable;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.regex.Pattern;

import javax.annotation.Nullable;

/**
 * How every client of a job reaches the service. Holds descriptions only: a key file is named here
 * and read where the job runs.
 */
@Internal
public final class ConnectionOptions implements Serializable {

    private static final long serialVersionUID = 1L;

    @Nullable private final String endpoint;
    @Nullable private final String emulatorEndpoint;
    @Nullable private final String serviceAccountKeyFile;
    @Nullable private final String quotaProject;
    @Nullable private final String caCertificateFile;
    @Nullable private final AccessTokenProvider accessTokenProvider;

    private ConnectionOptions(Builder builder) {
        endpoint = builder.endpoint;
        emulatorEndpoint = builder.emulatorEndpoint;
        serviceAccountKeyFile = builder.serviceAccountKeyFile;
        quotaProject = builder.quotaProject;
        caCertificateFile = builder.caCertificateFile;
        accessTokenProvider = builder.accessTokenProvider;
    }

    public static Builder builder() {
        return new Builder();
    }

    /** Adds what is set to the options of a native client. */
    public void addTo(NativeOptions options) {
        options.putIfSet("endpoint", endpoint);
        options.putIfSet("emulator-endpoint", emulatorEndpoint);
        options.putIfSet("service-account-key-file", serviceAccountKeyFile);
        options.putIfSet("quota-project", quotaProject);
        options.putIfSet("ca-certificate-file", caCertificateFile);
        options.accessTokenProvider(accessTokenProvider);
    }

    /** Collects the options; each setter checks its own value. */
    public static final class Builder {

        private static final String LABEL = "[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?";

        /** As the native library has it: container networks use {@code _}. */
        private static final Pattern HOST_NAME =
                Pattern.compile("(?=.{1,253}$)" + LABEL + "([.]" + LABEL + ")*[.]?");

        @Nullable private String endpoint;
        @Nullable private String emulatorEndpoint;
        @Nullable private String serviceAccountKeyFile;
        @Nullable private String quotaProject;
        @Nullable private String caCertificateFile;
        @Nullable private AccessTokenProvider accessTokenProvider;

        private Builder() {}

        public void endpoint(String hostPort) {
            endpoint = checkHostPort("endpoint", hostPort);
        }

        public void emulatorEndpoint(String hostPort) {
            emulatorEndpoint = checkHostPort("emulatorEndpoint", hostPort);
        }

        public void serviceAccountKeyFile(String path) {
            serviceAccountKeyFile = OptionChecks.notBlank("serviceAccountKeyFile", path);
        }

        public void quotaProject(String project) {
            OptionChecks.notBlank("quotaProject", project);
            quotaProject = ResourceName.checkProject(project);
        }

        public void caCertificateFile(String path) {
            caCertificateFile = OptionChecks.notBlank("caCertificateFile", path);
        }

        public void accessTokenProvider(AccessTokenProvider provider) {
            OptionChecks.notNull("accessTokenProvider", provider);
            try {
                InstantiationUtil.serializeObject(provider);
            } catch (IOException e) {
                throw new IllegalArgumentException(
                        "accessTokenProvider must be serializable, as it travels with the job: "
                                + e,
                        e);
            }
            accessTokenProvider = provider;
        }

        /**
         * Checks the options against each other.
         *
         * @throws IllegalArgumentException when the emulator is combined with an option that has no
         *     meaning for it, or two identities are given
         */
        public ConnectionOptions build() {
            if (emulatorEndpoint != null) {
                refuseBesideEmulator("endpoint", endpoint);
                refuseBesideEmulator("serviceAccountKeyFile", serviceAccountKeyFile);
                refuseBesideEmulator("quotaProject", quotaProject);
                refuseBesideEmulator("caCertificateFile", caCertificateFile);
                refuseBesideEmulator("accessTokenProvider", accessTokenProvider);
            }
            if (serviceAccountKeyFile != null && accessTokenProvider != null) {
                throw new IllegalArgumentException(
                        "accessTokenProvider and serviceAccountKeyFile exclude each other: set one"
                                + " of the two");
            }
            return new ConnectionOptions(this);
        }

        private static void refuseBesideEmulator(String option, @Nullable Object value) {
            if (value != null) {
                throw new IllegalArgumentException(
                        option
                                + " has no meaning beside emulatorEndpoint, which is plaintext and"
                                + " without credentials: set one of the two");
            }
        }

        private static String checkHostPort(String option, String text) {
            OptionChecks.notBlank(option, text);
            // An IPv6 address stands in brackets, so that its colons are not the port's.
            int colon = text.lastIndexOf(':');
            String host = colon < 0 ? "" : text.substring(0, colon);
            boolean bracketed = host.startsWith("[") && host.endsWith("]");
            boolean legalHost = bracketed ? legalIpv6(host) : HOST_NAME.matcher(host).matches();
            if (!legalHost || !legalPort(text.substring(colon + 1))) {
                throw new IllegalArgumentException(
                        option
                                + " must be host:port, such as localhost:8085, without a scheme or"
                                + " a path: '"
                                + text
                                + "'");
            }
            return text;
        }

        /** Whether it is an address in brackets; nothing is looked up. */
        private static boolean legalIpv6(String text) {
            if (!text.matches("\\[[0-9A-Fa-f:.]+]")) {
                return false;
            }
            try {
                return InetAddress.getByName(text) != null;
            } catch (UnknownHostException e) {
                return false;
            }
        }

        private static boolean legalPort(String text) {
            if (!text.matches("[0-9]{1,5}")) {
                return false;
            }
            int port = Integer.parseInt(text);
            return port >= 1 && port <= 65535;
        }
    }
}

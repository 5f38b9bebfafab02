import java.io.*;
import java.net.InetAddress;
import java.util.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.acl.*;
import org.apache.kafka.common.resource.*;
import org.apache.kafka.common.security.auth.*;
import org.apache.kafka.metadata.authorizer.*;
import org.apache.kafka.server.authorizer.*;

/**
 * What Apache Kafka's StandardAuthorizer says. A line each, fields by tabs: "world everyone", "acl type name kind
 * principal host operation permission", "ask principal host operation type name" and "any ..." in codes; a line of
 * 0 or 1 for each question.
 */
public class Authorizing {
    record Context(KafkaPrincipal principal, InetAddress clientAddress) implements AuthorizableRequestContext {
        public String listenerName() { return "PLAINTEXT"; }
        public SecurityProtocol securityProtocol() { return SecurityProtocol.PLAINTEXT; }
        public int requestType() { return 0; }
        public int requestVersion() { return 0; }
        public String clientId() { return ""; }
        public int correlationId() { return 0; }
    }

    static KafkaPrincipal principal(String text) {
        return org.apache.kafka.common.utils.SecurityUtils.parseKafkaPrincipal(text);
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        StringBuilder out = new StringBuilder();
        StandardAuthorizer authorizer = null;
        long id = 0;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] f = line.split("\t", -1);
            switch (f[0]) {
                case "world" -> {
                    authorizer = new StandardAuthorizer();
                    authorizer.configure(Map.of("node.id", "1", "super.users", "User:admin; User:root ",
                        "allow.everyone.if.no.acl.found", f[1]));
                    authorizer.withPluginMetrics(new org.apache.kafka.common.metrics.internals.PluginMetricsImpl(
                        new org.apache.kafka.common.metrics.Metrics(), Map.of()));
                    authorizer.loadSnapshot(Map.of());
                    authorizer.completeInitialLoad();
                }
                case "acl" -> authorizer.addAcl(new Uuid(7, ++id), new StandardAcl(ResourceType.fromCode(Byte.parseByte(f[1])),
                    f[2], PatternType.fromCode(Byte.parseByte(f[3])), f[4], f[5],
                    AclOperation.fromCode(Byte.parseByte(f[6])), AclPermissionType.fromCode(Byte.parseByte(f[7]))));
                case "ask", "any" -> {
                    Context context = new Context(principal(f[1]), InetAddress.getByName(f[2]));
                    AclOperation operation = AclOperation.fromCode(Byte.parseByte(f[3]));
                    ResourceType type = ResourceType.fromCode(Byte.parseByte(f[4]));
                    AuthorizationResult said = f[0].equals("any")
                        ? authorizer.authorizeByResourceType(context, operation, type)
                        : authorizer.authorize(context, List.of(new Action(operation,
                            new ResourcePattern(type, f[5], PatternType.LITERAL), 1, false, false))).get(0);
                    out.append(said == AuthorizationResult.ALLOWED ? "1\n" : "0\n");
                }
            }
        }
        System.out.print(out);
    }
}

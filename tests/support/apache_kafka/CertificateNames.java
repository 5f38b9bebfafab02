import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import javax.security.auth.x500.X500Principal;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;

/** Answers questions of a test, a line each: "dn HEX-OF-DER", or "map RULES NAME" (tabs between). */
public final class CertificateNames {
    public static void main(String[] arguments) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(answer(line.split("\t", -1)).replace("\n", "\\n").replace("\r", "\\r"));
        }
    }

    private static String answer(String[] question) {
        try {
            return "= " + (question[0].equals("dn")
                ? new X500Principal(HexFormat.of().parseHex(question[1])).getName()
                : SslPrincipalMapper.fromRules(question[1]).getName(question[2]));
        } catch (Throwable refused) {
            return "! " + refused.getClass().getSimpleName();
        }
    }
}

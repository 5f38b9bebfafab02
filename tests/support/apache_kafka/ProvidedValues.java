import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;

/** Answers a test, a line each: the hex of a properties file; the answer is what Kafka reads in it, as hex too. */
public final class ProvidedValues {
    public static void main(String[] arguments) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setErr(new PrintStream(PrintStream.nullOutputStream()));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println("answer " + answer(new String(HexFormat.of().parseHex(line), StandardCharsets.UTF_8)));
        }
    }

    private static String answer(String text) throws Exception {
        var written = new Properties();
        written.load(new StringReader(text));
        try {
            var read = new TreeMap<>(new AbstractConfig(new ConfigDef(), written, false) { }.originals());
            var said = new StringBuilder();
            for (Map.Entry<String, Object> each : read.entrySet()) {
                said.append(each.getKey()).append('=').append(each.getValue()).append('\0');
            }
            return "= " + HexFormat.of().formatHex(said.toString().getBytes(StandardCharsets.UTF_8));
        } catch (Throwable refused) {
            return "!";
        }
    }
}

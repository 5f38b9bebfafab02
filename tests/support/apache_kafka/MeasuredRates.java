import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Quota;
import org.apache.kafka.common.metrics.QuotaViolationException;
import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.common.metrics.stats.Rate;
import org.apache.kafka.server.quota.QuotaUtils;

/** Answers a test: "new SAMPLES SECONDS BOUND" begins a rate, "AMOUNT MILLISECONDS" is what happened and when; the
 *  answer is how long to wait. */
public final class MeasuredRates {
    public static void main(String[] arguments) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in));
        var metrics = new Metrics();
        Sensor sensor = null;
        int count = 0;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("new")) {
                var config = new MetricConfig().samples(Integer.parseInt(words[1]))
                    .timeWindow(Integer.parseInt(words[2]), TimeUnit.SECONDS)
                    .quota(Quota.upperBound(Double.parseDouble(words[3])));
                sensor = metrics.sensor("s" + ++count, config, Long.MAX_VALUE / 1000);
                sensor.add(new MetricName("r" + count, "g", "", java.util.Map.of()), new Rate());
                continue;
            }
            long now = Long.parseLong(words[1]);
            try {
                sensor.record(Double.parseDouble(words[0]), now, true);
                System.out.println("answer 0");
            } catch (QuotaViolationException above) {
                System.out.println("answer " + QuotaUtils.throttleTime(above, now));
            }
        }
    }
}

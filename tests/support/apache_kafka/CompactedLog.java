import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Opens logs as a broker after an unclean stop does, and cleans them with Apache Kafka's own cleaner.
 * Arguments: segment.bytes, delete.retention.ms, keys that the map has room for.
 * A line of input: `open DIRECTORY`, or `clean DIRECTORY FIRST_DIRTY NOW`. A line of output: the log's end, and how far
 * it is clean.
 */
public class CompactedLog {
    public static void main(String[] args) throws Exception {
        Properties said = new Properties();
        said.put("cleanup.policy", "compact");
        said.put("internal.segment.bytes", args[0]);
        said.put("delete.retention.ms", args[1]);
        said.put("index.interval.bytes", "100");
        LogConfig config = new LogConfig(said);
        int slots = (int) Math.ceil(Integer.parseInt(args[2]) / 0.9) + 1;
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            UnifiedLog log = UnifiedLog.create(new File(words[1]), config, 0L, 0L, scheduler, new BrokerTopicStats(),
                Time.SYSTEM, 300_000, new ProducerStateManagerConfig(86_400_000, false), 600_000,
                new LogDirFailureChannel(1), false, Optional.empty());
            log.updateHighWatermark(log.logEndOffset());
            long clean = -1;
            if (words[0].equals("clean")) {
                Throttler throttler = new Throttler(Double.MAX_VALUE, 300, "cleaner", "entries", Time.SYSTEM);
                Cleaner cleaner = new Cleaner(0, new SkimpyOffsetMap(slots * 24), 65536, 1 << 20, 0.9, throttler,
                    Time.SYSTEM, partition -> { });
                long limit = Math.min(log.lastStableOffset(), log.activeSegment().baseOffset());
                LogToClean dirt = new LogToClean(log, Long.parseLong(words[2]), limit, false);
                Map.Entry<Long, ?> done = cleaner.doClean(dirt, Long.parseLong(words[3]));
                clean = done.getKey();
            }
            System.out.println(log.logEndOffset() + " " + clean);
            log.close();
        }
        scheduler.shutdown();
    }
}

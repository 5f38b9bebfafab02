import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.compress.Compression;
import java.nio.*; import java.util.*;
/** Writes batches with Kafka's own builder: how tests/golden/kafka-4.3.1/codec/java-batches.jsonl.gz was made (java -cp "LIB/*" JavaBatches.java | gzip -9n). */
public class JavaBatches {
  public static void main(String[] a) throws Exception {
    for (String codec : new String[]{"none","gzip","snappy","lz4","zstd"}) for (int n : new int[]{1, 7, 3000}) {
      List<SimpleRecord> rs = new ArrayList<>();
      for (int i=0;i<n;i++) {
        byte[] k = i%3==0?null:("key-"+i).getBytes("UTF-8");
        byte[] v = i%5==4?null:("value "+(i*7919%1000)+" of record "+i).getBytes("UTF-8");
        Header[] h = i%4==1? new Header[]{new RecordHeader("h"+i, ("x"+i).getBytes("UTF-8")), new RecordHeader("null", (byte[])null)} : new Header[0];
        rs.add(new SimpleRecord(1700000000000L + i*(i%2==0?1:1000), k, v, h));
      }
      MemoryRecords m = MemoryRecords.withRecords(100L, Compression.of(codec).build(), 7, rs.toArray(new SimpleRecord[0]));
      ByteBuffer b = m.buffer(); byte[] d = new byte[b.remaining()]; b.get(d);
      System.out.println("{\"codec\":\""+codec+"\",\"records\":"+n+",\"base64\":\""+Base64.getEncoder().encodeToString(d)+"\"}");
    }
  }
}

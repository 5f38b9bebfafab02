import java.util.*;
import java.util.function.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.metadata.*;
import org.apache.kafka.controller.PartitionChangeBuilder;
import org.apache.kafka.metadata.*;
import org.apache.kafka.server.common.*;

/** What Apache Kafka's PartitionChangeBuilder makes of random partitions and changes: one JSON object a line. */
public class PartitionChanges {
    static Random random;

    static List<Integer> shuffled(List<Integer> from, int count) {
        List<Integer> all = new ArrayList<>(from);
        Collections.shuffle(all, random);
        return new ArrayList<>(all.subList(0, Math.min(count, all.size())));
    }

    static int[] ints(List<Integer> from) {
        return from.stream().mapToInt(Integer::intValue).toArray();
    }

    public static void main(String[] args) {
        random = new Random(Long.parseLong(args[0]));
        int count = Integer.parseInt(args[1]);
        List<Integer> brokers = List.of(0, 1, 2, 3, 4, 5);
        MetadataVersion[] levels = {MetadataVersion.IBP_3_5_IV2, MetadataVersion.IBP_3_6_IV0, MetadataVersion.IBP_3_7_IV1,
            MetadataVersion.IBP_3_7_IV2, MetadataVersion.IBP_3_9_IV0, MetadataVersion.IBP_4_0_IV1, MetadataVersion.IBP_4_3_IV0};
        for (int i = 0; i < count; i++) {
            StringBuilder out = new StringBuilder("{");
            MetadataVersion level = levels[random.nextInt(levels.length)];
            boolean elr = level.isAtLeast(MetadataVersion.IBP_4_0_IV1) && random.nextInt(3) > 0;
            List<Integer> replicas = shuffled(brokers, 1 + random.nextInt(4));
            List<Integer> removing = new ArrayList<>(), adding = new ArrayList<>();
            if (random.nextInt(3) == 0 && replicas.size() > 1) {
                for (int r : replicas) {
                    int dice = random.nextInt(4);
                    if (dice == 0) removing.add(r);
                    else if (dice == 1) adding.add(r);
                }
                if (removing.size() == replicas.size()) removing.clear();
            }
            List<Integer> isr = shuffled(replicas, elr ? random.nextInt(replicas.size() + 1) : 1 + random.nextInt(replicas.size()));
            List<Integer> elrs = new ArrayList<>(), last = new ArrayList<>();
            if (elr) {
                for (int r : shuffled(replicas, replicas.size())) if (!isr.contains(r) && random.nextInt(2) == 0) elrs.add(r);
                Collections.sort(elrs);
                if (isr.isEmpty()) last.addAll(shuffled(replicas, random.nextInt(3)));
            }
            int leader = isr.isEmpty() || random.nextInt(5) == 0 ? -1 : isr.get(random.nextInt(isr.size()));
            if (!isr.isEmpty() && elr && leader == -1) leader = isr.get(0);
            boolean recovering = leader >= 0 && isr.size() == 1 && random.nextInt(4) == 0;
            Uuid[] directories = new Uuid[replicas.size()];
            for (int r = 0; r < directories.length; r++)
                directories[r] = level.isDirectoryAssignmentSupported() ? new Uuid(7, replicas.get(r)) : DirectoryId.MIGRATING;
            PartitionRegistration partition = new PartitionRegistration.Builder()
                .setReplicas(ints(replicas)).setIsr(ints(isr)).setElr(ints(elrs)).setLastKnownElr(ints(last))
                .setRemovingReplicas(ints(removing)).setAddingReplicas(ints(adding)).setDirectories(directories)
                .setLeader(leader).setLeaderEpoch(5).setPartitionEpoch(9)
                .setLeaderRecoveryState(recovering ? LeaderRecoveryState.RECOVERING : LeaderRecoveryState.RECOVERED).build();
            Set<Integer> alive = new TreeSet<>(shuffled(brokers, random.nextInt(7)));
            int minIsr = 1 + random.nextInt(3);
            PartitionChangeBuilder builder = new PartitionChangeBuilder(
                partition, new Uuid(1, 2), 3, alive::contains, level, minIsr, elr);
            out.append("\"level\":").append(level.featureLevel()).append(",\"elrEnabled\":").append(elr)
               .append(",\"replicas\":").append(replicas).append(",\"removing\":").append(removing).append(",\"adding\":").append(adding)
               .append(",\"isr\":").append(isr).append(",\"elr\":").append(elrs).append(",\"last\":").append(last)
               .append(",\"leader\":").append(leader).append(",\"recovering\":").append(recovering)
               .append(",\"alive\":").append(alive).append(",\"minIsr\":").append(minIsr);
            builder.setDefaultDirProvider(broker -> new Uuid(8, broker));
            int election = random.nextInt(3);
            builder.setElection(PartitionChangeBuilder.Election.values()[election]);
            out.append(",\"election\":\"").append(PartitionChangeBuilder.Election.values()[election]).append("\"");
            if (random.nextInt(2) == 0) {
                List<Integer> target = shuffled(replicas, elr ? random.nextInt(replicas.size() + 1) : 1 + random.nextInt(replicas.size()));
                builder.setTargetIsr(target);
                out.append(",\"toIsr\":").append(target);
                if (random.nextInt(3) == 0) {
                    List<Integer> unclean = shuffled(replicas, 1);
                    builder.setUncleanShutdownReplicas(unclean);
                    out.append(",\"unclean\":").append(unclean);
                }
                if (random.nextInt(3) == 0) {
                    builder.setTargetLeaderRecoveryState(LeaderRecoveryState.RECOVERED);
                    out.append(",\"recovered\":true");
                }
            }
            if (random.nextInt(3) == 0) {
                List<Integer> target = shuffled(brokers, 1 + random.nextInt(4));
                List<Integer> gone = new ArrayList<>(), come = new ArrayList<>();
                for (int r : new TreeSet<>(replicas)) if (!target.contains(r)) gone.add(r);
                for (int r : new TreeSet<>(target)) if (!replicas.contains(r)) come.add(r);
                target.addAll(gone);
                if (!target.equals(replicas)) builder.setTargetReplicas(target);
                if (!gone.isEmpty()) builder.setTargetRemoving(gone);
                if (!come.isEmpty()) builder.setTargetAdding(come);
                out.append(",\"toReplicas\":").append(target).append(",\"toRemoving\":").append(gone).append(",\"toAdding\":").append(come);
            }
            String answer;
            try {
                Optional<ApiMessageAndVersion> record = builder.build();
                answer = record.map(r -> {
                    int version = r.version();
                    return "{\"version\":" + version + ",\"record\":" + PartitionChangeRecordJsonConverter.write((PartitionChangeRecord) r.message(), (short) version) + "}";
                }).orElse("null");
            } catch (Exception e) {
                answer = "\"" + e.getClass().getSimpleName() + "\"";
            }
            System.out.println(out.append(",\"answer\":").append(answer).append("}"));
        }
    }
}

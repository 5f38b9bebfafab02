import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/**
 * Asks Apache Kafka's own assignors. A line of input: `ASSIGNOR HOMOGENEOUS COUNT,COUNT...` (partitions of topics 0, 1,
 * ...) and for each member ` NAME/INSTANCE/TOPIC,TOPIC/TOPIC:PARTITION.PARTITION,...` (no instance: -; what it had
 * before). A line of output: the order in which Java goes through the members, and through the topics, and what each
 * member gets.
 */
public class AssignorAnswers {
    static Uuid id(int topic) {
        return new Uuid(1, topic);
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) System.out.println(answer(line.split(" ")));
    }

    static String answer(String[] words) {
        String[] counts = words[2].split(",");
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new HashMap<>();
        Map<Uuid, Map<Integer, String>> inverted = new HashMap<>();
        Set<Uuid> read = new HashSet<>();
        for (int place = 3; place < words.length; place++) {
            String[] parts = words[place].split("/", -1);
            Set<Uuid> topics = new HashSet<>();
            for (String topic : parts[2].split(",")) topics.add(id(Integer.parseInt(topic)));
            read.addAll(topics);
            Map<Uuid, Set<Integer>> before = new LinkedHashMap<>();
            for (String had : parts[3].isEmpty() ? new String[0] : parts[3].split(",")) {
                Uuid topic = id(Integer.parseInt(had.split(":")[0]));
                Set<Integer> indexes = new TreeSet<>();
                for (String index : had.split(":")[1].split("\\.")) {
                    indexes.add(Integer.parseInt(index));
                    inverted.computeIfAbsent(topic, __ -> new HashMap<>()).put(Integer.parseInt(index), parts[0]);
                }
                before.put(topic, indexes);
            }
            Optional<String> instance = parts[1].equals("-") ? Optional.empty() : Optional.of(parts[1]);
            members.put(parts[0], new MemberSubscriptionAndAssignmentImpl(
                Optional.empty(), instance, topics, new Assignment(before)));
        }
        SubscribedTopicDescriber describer = new SubscribedTopicDescriber() {
            public int numPartitions(Uuid topic) {
                return Integer.parseInt(counts[(int) topic.getLeastSignificantBits()]);
            }

            public Set<String> racksForPartition(Uuid topic, int partition) {
                return Set.of();
            }
        };
        SubscriptionType type = words[1].equals("1") ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        ConsumerGroupPartitionAssignor assignor = words[0].equals("range") ? new RangeAssignor() : new UniformAssignor();
        GroupAssignment found = assignor.assign(new GroupSpecImpl(members, type, inverted), describer);
        List<String> topicOrder = new ArrayList<>();
        for (Uuid topic : new HashSet<>(read)) topicOrder.add("" + topic.getLeastSignificantBits());
        StringBuilder out = new StringBuilder(String.join(",", members.keySet()) + " " + String.join(",", topicOrder));
        for (String name : new TreeSet<>(members.keySet())) {
            Map<Long, String> given = new TreeMap<>();
            if (found.members().containsKey(name)) {
                found.members().get(name).partitions().forEach((topic, indexes) -> {
                    List<String> sorted = new ArrayList<>();
                    for (int index : new TreeSet<>(indexes)) sorted.add("" + index);
                    if (!sorted.isEmpty()) given.put(topic.getLeastSignificantBits(), String.join(".", sorted));
                });
            }
            List<String> topics = new ArrayList<>();
            given.forEach((topic, indexes) -> topics.add(topic + ":" + indexes));
            out.append(" ").append(name).append("/").append(String.join(",", topics));
        }
        return out.toString();
    }
}

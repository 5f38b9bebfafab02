// kafkajs against our brokers: the steps of go/story/story.go. It brings gzip itself, snappy by a package.
const { Kafka, CompressionTypes, CompressionCodecs, logLevel } = require('kafkajs')

CompressionCodecs[CompressionTypes.Snappy] = require('kafkajs-snappy')

const CODECS = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP, snappy: CompressionTypes.Snappy }
const UNSUPPORTED = 3
const kafka = new Kafka({ brokers: process.argv[2].split(','), logLevel: logLevel.ERROR })

async function given() {
  let text = ''
  for await (const part of process.stdin) text += part
  return JSON.parse(text)
}

const messages = (records) =>
  records.map(({ partition, key, value }) => ({
    partition,
    key: Buffer.from(key, 'base64'),
    value: Buffer.from(value, 'base64'),
  }))

const shown = ({ partition, message }) => ({
  partition,
  key: message.key.toString('base64'),
  value: message.value.toString('base64'),
})

async function administrate(act) {
  const admin = kafka.admin()
  await admin.connect()
  try {
    return await act(admin)
  } finally {
    await admin.disconnect()
  }
}

async function produce(options, act) {
  const producer = kafka.producer(options)
  await producer.connect()
  try {
    return await act(producer)
  } finally {
    await producer.disconnect()
  }
}

// What the members of a group read, until `count` different records have come whose keys begin so; their
// offsets are committed.
async function consume(topic, groupId, { count, prefix, members, readUncommitted }) {
  const found = Array.from({ length: members }, () => [])
  const seen = new Set()
  let done
  const all = new Promise((resolve) => (done = resolve))
  const consumers = found.map(() => kafka.consumer({ groupId, readUncommitted }))
  for (const [member, consumer] of consumers.entries()) {
    await consumer.connect()
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    await consumer.run({
      eachMessage: async (each) => {
        found[member].push(shown(each))
        if (!String(each.message.key).startsWith(prefix)) return
        if (seen.add(`${each.partition} ${each.message.key}`).size === count) done()
      },
    })
  }
  await all
  for (const consumer of consumers) await consumer.disconnect()
  return found
}

const steps = {
  create: (topic, numPartitions, replicationFactor) =>
    administrate((admin) =>
      admin.createTopics({
        topics: [{ topic, numPartitions: Number(numPartitions), replicationFactor: Number(replicationFactor) }],
      }),
    ),
  delete: (topic) => administrate((admin) => admin.deleteTopics({ topics: [topic] })),
  write: async (topic, codec, idempotent) => {
    if (!(codec in CODECS)) process.exit(UNSUPPORTED)
    const records = messages(await given())
    await produce({ idempotent: idempotent === 'true' }, (producer) =>
      producer.send({ topic, messages: records, acks: -1, compression: CODECS[codec] }),
    )
    return records.length
  },
  transact: async (topic, transactionalId) => {
    const records = messages(await given())
    const half = records.length / 2
    await produce({ transactionalId, idempotent: true, maxInFlightRequests: 1 }, async (producer) => {
      for (const [part, end] of [[records.slice(0, half), 'commit'], [records.slice(half), 'abort']]) {
        const transaction = await producer.transaction()
        await transaction.send({ topic, messages: part })
        await transaction[end]()
      }
    })
    return records.length
  },
  // It has no consumer without a group.
  read: async (topic, count, isolation) => {
    const readUncommitted = isolation !== 'read_committed'
    const wanted = { count: Number(count), prefix: '', members: 1, readUncommitted }
    return (await consume(topic, `reader-${process.pid}`, wanted))[0]
  },
  group: (topic, group, count, prefix) =>
    consume(topic, group, { count: Number(count), prefix, members: 2, readUncommitted: true }),
}

steps[process.argv[3]](...process.argv.slice(4)).then(
  (answer) => console.log(JSON.stringify(answer ?? null)),
  (error) => {
    console.error(error)
    process.exit(1)
  },
)
